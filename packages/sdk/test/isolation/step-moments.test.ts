/**
 * The step form at every moment of its turn: the run is cancelled, its lease is lost, the connection closes with and
 * without time for it, the connection thread ends, main is blocked. Real threads; what runs goes on when the test lets
 * it.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { encodeJsonBytes } from "@holdfast/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../../tooling/src/processes.mjs";
import { Holdfast } from "../../src/app/holdfast.ts";
import { connect } from "../../src/connection/main/connect.ts";
import type { Connection } from "../../src/connection/main/connection.ts";
import { type GatewayPeer, startTestGateway, type TestGateway } from "../connection/test-gateway.ts";
import { until } from "../connection/until.ts";
import { isolatedModule } from "./pool-harness.ts";

const workerThreads = process.getBuiltinModule("node:worker_threads");
const { Worker: NodeWorker } = workerThreads;
const connectionThreads: Worker[] = [];
beforeAll(() => {
  workerThreads.Worker = class extends NodeWorker {
    constructor(...[script, options]: ConstructorParameters<typeof NodeWorker>) {
      super(script, options);
      if (options?.name === "holdfast-connection") connectionThreads.push(this);
    }
  };
});
afterAll(() => {
  workerThreads.Worker = NodeWorker;
});

let gateway: TestGateway;
let folder: ReturnType<typeof temporaryFolder>;
beforeEach(async () => {
  gateway = await startTestGateway({ extensions: ["checkpoint", "nack", "cancel"] });
  folder = temporaryFolder("holdfast-moments-");
});
afterEach(async () => {
  await gateway.close();
  folder.remove();
  (globalThis as Record<symbol, Map<string, unknown> | undefined>)[Symbol.for("holdfast.isolated")]?.clear();
});

const SOURCE = `
  import { appendFileSync, existsSync } from "node:fs";
  import { join } from "node:path";
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const note = (folder, what) => appendFileSync(join(folder, "notes"), what + "\\n");
  const never = new Int32Array(new SharedArrayBuffer(4));
  const hold = FOLDER + "/hold-loading";
  if (existsSync(hold)) {
    note(FOLDER, "loading");
    while (existsSync(hold)) await pause(5);
  }
  export const blocks = isolated(import.meta.url, "blocks", async (folder) => {
    note(folder, "blocks");
    while (!existsSync(join(folder, "unblock"))) await pause(5);
  });
  export const waits = isolated(import.meta.url, "waits", async (folder) => {
    note(folder, "waits");
    const signal = stepSignal();
    while (!existsSync(join(folder, "go"))) {
      if (signal.aborted) note(folder, "told");
      signal.throwIfAborted();
      await pause(5);
    }
    return "waited";
  });
  export const computes = isolated(import.meta.url, "computes", (folder) => {
    note(folder, "computes");
    while (!existsSync(join(folder, "go"))) Atomics.wait(never, 0, 0, 5);
    return "computed";
  });
`;

type Moment = "in line" | "its thread starts" | "its module loads" | "it waits" | "it computes";
const MOMENTS: readonly Moment[] = ["in line", "its thread starts", "its module loads", "it waits", "it computes"];
const EVENTS = ["cancelled", "lease lost", "close", "close at once", "connection thread ends", "main blocked"] as const;
type Event = (typeof EVENTS)[number];

interface World {
  readonly connection: Connection;
  readonly peer: GatewayPeer;
  readonly requestId: string;
  readonly notes: () => readonly string[];
  /** Lets what is held go on. */
  readonly letGo: () => void;
}

const notesIn = (): readonly string[] => {
  const path = join(folder.path, "notes");
  if (!existsSync(path)) return [];
  return process.getBuiltinModule("node:fs").readFileSync(path, "utf8").trim().split("\n");
};

const payload = (): Uint8Array => {
  const event = { id: "e", name: "app/go", data: {}, ts: 1 };
  const ctx = {
    run_id: "run",
    attempt: 0,
    max_attempts: 3,
    stack: { stack: [], current: 0 },
    holdfast: { v: 1, retries: {} },
  };
  return encodeJsonBytes({ version: 2, event, events: [event], steps: {}, ctx });
};

/** A run whose one isolated step is at this moment. */
async function at(moment: Moment, event: Event): Promise<World> {
  const code = await isolatedModule(SOURCE.replaceAll("FOLDER", JSON.stringify(folder.path)));
  const bodies = (await import(code.url)) as Record<"blocks" | "waits" | "computes", (folder: string) => unknown>;
  const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet });
  const body = moment === "it computes" ? bodies.computes : bodies.waits;
  const functions = [
    client.createFunction({ id: "blocks", triggers: [] }, ({ step }) => step.run("b", bodies.blocks, folder.path)),
    client.createFunction({ id: "go", triggers: [] }, ({ step }) => step.run("s", body, folder.path)),
  ];
  const needsOther = moment === "its thread starts" || moment === "its module loads";
  const connection = await connect({
    ...{
      apps: [{ client, functions }],
      handleShutdownSignals: [],
      drainTimeout: event === "close at once" ? 50 : 20_000,
    },
    isolation: { threads: needsOther ? 2 : 1 },
  });
  const peer = await gateway.peer();
  const dispatch = (name: string): string =>
    gateway.dispatch(peer, { functionSlug: `app-${name}`, runId: name, requestPayload: payload() }).requestId;
  const state = () => connection.debugState().isolation;
  const isBehind = moment === "in line" || needsOther;
  if (isBehind) {
    dispatch("blocks");
    await until(() => notesIn().includes("blocks"), "the thread to be taken");
  }
  if (moment === "its module loads") writeFileSync(join(folder.path, "hold-loading"), "");
  const requestId = dispatch("go");
  const isThere: Readonly<Record<Moment, () => boolean>> = {
    "in line": () => state().queued === 1,
    "its thread starts": () => state().threads === 2,
    "its module loads": () => notesIn().includes("loading"),
    "it waits": () => notesIn().includes("waits"),
    "it computes": () => notesIn().includes("computes"),
  };
  await until(isThere[moment], `the moment "${moment}"`);
  return {
    ...{ connection, peer, requestId, notes: notesIn },
    letGo: () => {
      rmSync(join(folder.path, "hold-loading"), { force: true });
      for (const name of ["unblock", "go"]) writeFileSync(join(folder.path, name), "");
    },
  };
}

const begins = ({ notes }: World): number => notes().filter((note) => note === "waits" || note === "computes").length;
const replies = ({ requestId }: World): number =>
  gateway.peers.flatMap((peer) => peer.of("WORKER_REPLY")).filter((reply) => reply.requestId === requestId).length;

/** It is not wanted any more: nothing of it is reported, and what has not begun does not begin. */
async function isGivenUp(world: World, moment: Moment): Promise<void> {
  const { connection, notes } = world;
  const hadBegun = moment === "it waits" || moment === "it computes";
  if (moment === "it waits") await until(() => notes().includes("told"), "the body to be told");
  else if (!hadBegun) world.letGo();
  await until(() => connection.debugState().inFlight === 0, "no request in flight");
  if (hadBegun) world.letGo();
  await until(() => connection.debugState().isolation.busy === 0, "no turn");
  // A thread that starts takes as long as it takes.
  if (moment === "its thread starts") expect(begins(world)).toBeLessThanOrEqual(1);
  else expect(begins(world)).toBe(hadBegun ? 1 : 0);
  expect(replies(world)).toBe(0);
  await connection.close();
}

/** Nothing of it is lost: it ends once, with one reply. */
async function isDone(world: World): Promise<void> {
  await until(() => replies(world) > 0, "the reply");
  await until(() => world.connection.debugState().inFlight === 0, "no request in flight");
  expect(begins(world)).toBe(1);
  expect(replies(world)).toBe(1);
}

async function play(moment: Moment, event: Event): Promise<void> {
  const world = await at(moment, event);
  const { connection, peer, requestId, letGo } = world;
  switch (event) {
    case "cancelled":
      peer.send({ kind: "GATEWAY_CANCEL", requestId, reason: "No longer wanted." });
      // The request that has the other thread is in flight still.
      await until(() => connection.debugState().inFlight < 2, "the end of its request");
      await isGivenUp(world, moment);
      break;
    case "lease lost":
      gateway.script.extendLeases = false;
      await until(() => connection.debugState().inFlight === 0, "the loss");
      await isGivenUp(world, moment);
      break;
    case "close": {
      const closed = connection.close();
      letGo();
      await closed;
      expect(begins(world)).toBe(1);
      expect(replies(world) + gateway.flushed.filter((reply) => reply.requestId === requestId).length).toBe(1);
      break;
    }
    case "close at once":
      await connection.close();
      expect(replies(world)).toBe(0);
      break;
    case "connection thread ends":
      await connectionThreads.at(-1)?.terminate();
      letGo();
      await isDone(world);
      await connection.close();
      break;
    case "main blocked":
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      letGo();
      await isDone(world);
      await connection.close();
      break;
  }
  expect(connection.debugState().isolation).toMatchObject({ threads: 0, busy: 0, queued: 0 });
}

describe.each(EVENTS)("An isolated step: %s", (event) => {
  it.each(MOMENTS)("while %s", (moment) => play(moment, event));
});
