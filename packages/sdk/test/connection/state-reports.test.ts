/** The extension "state" between a real connection thread and a scripted gateway. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encodeJsonBytes, type WorkerState } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../tooling/src/processes.mjs";
import { Holdfast } from "../../src/app/holdfast.ts";
import { done, manualStrategy, openTest } from "./harness.ts";
import { type GatewayPeer, startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

const EXTENSIONS = ["checkpoint", "nack", "cancel", "state"] as const;

let gateway: TestGateway;
beforeEach(async () => {
  // Blocked with main it answers no heartbeats, and is not to be given up for that.
  gateway = await startTestGateway({ extensions: EXTENSIONS, heartbeat: "60s", lease: "60s" });
});
afterEach(() => gateway.close());

const states = (peer: GatewayPeer): readonly WorkerState[] => peer.of("WORKER_STATE");
const last = (peer: GatewayPeer): WorkerState | undefined => states(peer).at(-1);

/** Main, and the gateway of these tests with it. */
const blockMain = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe("A worker whose gateway wants to hear how it is", () => {
  it("says so after it is ready, with the requests it has, and once more over each connection", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection } = await openTest(gateway.url, { strategy, config: { extensions: EXTENSIONS } });
    const peer = await gateway.peer();
    const { requestId, runId } = gateway.dispatch(peer);
    await until(() => last(peer)?.inFlight === 1, "the request in the state");
    const kinds = peer.frames.map(({ kind }) => kind);
    expect(kinds.indexOf("WORKER_STATE")).toBeGreaterThan(kinds.indexOf("WORKER_READY"));
    expect(last(peer)).toMatchObject({ phase: "ACTIVE", crashes: 0, process: { pid: process.pid } });
    expect(last(peer)?.requests).toMatchObject([{ requestId, runId, replied: false }]);
    expect(last(peer)?.process.rssBytes).toBeGreaterThan(0);
    expect(last(peer)).not.toHaveProperty("pool");
    peer.socket.terminate();
    const second = await gateway.peer(2);
    await until(() => last(second), "the state over the second connection");
    expect(last(second)).toMatchObject({ inFlight: 1 });
    calls[0]!.result.resolve(done());
    await until(() => last(second)?.inFlight === 0, "that it has none any more");
    await connection.close();
  });

  it("says nothing where that was not agreed on", async () => {
    gateway.script.extensions = ["checkpoint", "nack", "cancel"];
    gateway.script.heartbeat = "500ms";
    const { connection } = await openTest(gateway.url, { config: { extensions: EXTENSIONS, debugMs: 50 } });
    const peer = await gateway.peer();
    await until(() => peer.of("WORKER_HEARTBEAT").length > 5, "heartbeats");
    expect(states(peer)).toEqual([]);
    gateway.script.extensions = EXTENSIONS;
    peer.socket.terminate();
    const second = await gateway.peer(2);
    await until(() => states(second).length > 1, "the state, now that it was agreed on");
    gateway.script.extensions = [];
    second.socket.terminate();
    const third = await gateway.peer(3);
    await until(() => third.of("WORKER_HEARTBEAT").length > 5, "heartbeats");
    expect(states(third)).toEqual([]);
    await connection.close();
  });

  it("says that its main thread is blocked while it is, and afterwards that it is not any more", async () => {
    const { connection } = await openTest(gateway.url, { config: { extensions: EXTENSIONS } });
    const peer = await gateway.peer();
    await until(() => last(peer), "a first state");
    // The gateway reads afterwards what was sent meanwhile.
    await until(() => {
      blockMain(1_500);
      return states(peer).some(({ mainLagMs }) => mainLagMs > 0);
    }, "a state of a blocked main thread");
    await until(() => last(peer)?.mainLagMs === 0, "that it is responsive");
    await connection.close();
  });
});

describe("The pool in the state of a worker", () => {
  it("isolated functions, turns in line and those that run while main is blocked are in it", async () => {
    const { path: folder, remove } = temporaryFolder("holdfast-state-");
    onTestFinished(remove);
    const gate = join(folder, "gate");
    const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet }, {});
    const module = new URL("../isolation/handlers/handlers.mjs", import.meta.url);
    const isolate = { module, export: "gated", budget: "1m" };
    const fn = client.createFunction({ id: "waits", triggers: [], isolate });
    gateway.script.extensions = [...EXTENSIONS, "partitions"];
    const connection = await client.connect({ functions: [fn], isolation: { threads: 1 } });
    const peer = await gateway.peer();
    const requestPayload = encodeJsonBytes({
      ...{ version: -1, event: { id: "e", name: "n", data: { gate }, ts: 1 }, events: [], steps: {} },
      ctx: { attempt: 0, stack: { stack: [], current: 0 }, holdfast: { v: 1, retries: {}, signatures: {} } },
    });
    const request = { appName: "app", functionSlug: fn.slug, requestPayload };
    for (let count = 0; count < 2; count += 1) gateway.dispatch(peer, request);
    await until(() => last(peer)?.pool?.busy === 1 && last(peer)?.pool?.queued === 1, "a turn and one in line");
    expect(last(peer)?.pool).toMatchObject({ threads: 1, overruns: 0, crashes: 0, recycled: 0, abandoned: 0 });
    expect(last(peer)?.pool?.oldestMs).toBeGreaterThanOrEqual(0);
    await until(() => {
      blockMain(1_500);
      return states(peer).some(({ mainLagMs, pool }) => mainLagMs > 0 && pool?.busy === 1);
    }, "the pool at work while main is blocked");
    await writeFile(gate, "open");
    await until(() => peer.of("WORKER_REPLY").length === 2, "both replies");
    // A thread may be done a moment before its request is.
    await until(() => {
      const pool = last(peer)?.pool;
      return pool?.busy === 0 && pool.queued === 0 && pool.oldestMs === undefined;
    }, "an idle pool");
    await connection.close();
  });
});
