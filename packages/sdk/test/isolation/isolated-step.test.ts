/** The step form, end to end: a connection to a scripted gateway, and threads of the pool that run the bodies. */
import { availableParallelism } from "node:os";
import { encodeJsonBytes, parseJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { connect } from "../../src/connection/main/connect.ts";
import type { Connection } from "../../src/connection/main/connection.ts";
import { defaultIsolation } from "../../src/connection/main/create-isolation.ts";
import type { ConnectOptions } from "../../src/connection/shared/connect-options.ts";
import { type GatewayPeer, startTestGateway, type TestGateway } from "../connection/test-gateway.ts";
import { until } from "../connection/until.ts";
import { isolatedModule } from "./pool-harness.ts";

let gateway: TestGateway;
let logs: { readonly level: string; readonly message: string; readonly data: unknown }[];
beforeEach(async () => {
  logs = [];
  gateway = await startTestGateway();
});
afterEach(async () => {
  await gateway.close();
  forgetMarks();
});

/** What a test has marked is marked for this process, and its module is gone afterwards. */
function forgetMarks(): void {
  (globalThis as Record<symbol, Map<string, unknown> | undefined>)[Symbol.for("holdfast.isolated")]?.clear();
}

const client = (): Holdfast => {
  const log = (level: string) => (message: unknown, data: unknown) => {
    const [text, rest] = typeof message === "string" ? [message, data] : [data, message];
    logs.push({ level, message: String(text), data: rest });
  };
  const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
  return new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger });
};

const firstPass = (): Uint8Array => {
  const event = { id: "e", name: "app/go", data: {}, ts: 1 };
  const stack = { stack: [], current: 0 };
  const ctx = { run_id: "run", attempt: 0, max_attempts: 3, stack, holdfast: { v: 1, retries: {} } };
  return encodeJsonBytes({ version: 2, event, events: [event], steps: {}, ctx });
};

type Bodies = Readonly<Record<string, (...args: unknown[]) => unknown>>;

interface Running extends AsyncDisposable {
  readonly connection: Connection;
  readonly peer: GatewayPeer;
  readonly requestId: string;
  /** The ops of its checkpoints and its reply, once the reply has come. */
  ended(): Promise<{ readonly ops: readonly Op[]; readonly output: unknown }>;
}

interface Op {
  readonly op: string;
  readonly name?: string;
  readonly data?: unknown;
  readonly error?: { readonly name: string; readonly code?: string; readonly message: string };
}

/** Runs `handler` with the functions that the module marks. */
async function run(
  source: string,
  handler: (step: Parameters<Parameters<Holdfast["createFunction"]>[1]>[0]["step"], bodies: Bodies) => unknown,
  options: Omit<ConnectOptions, "signal"> = {},
): Promise<Running> {
  const code = await isolatedModule(source);
  const bodies = (await import(code.url)) as Bodies;
  const app = client();
  const fn = app.createFunction({ id: "go", triggers: { event: "app/go" } }, ({ step }) => handler(step, bodies));
  const connection = await connect({ apps: [{ client: app, functions: [fn] }], handleShutdownSignals: [], ...options });
  const peer = await gateway.peer();
  const { requestId } = gateway.dispatch(peer, { functionSlug: "app-go", runId: "run", requestPayload: firstPass() });
  return {
    connection,
    peer,
    requestId,
    ended: async () => {
      const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
      const read = (bytes: Uint8Array): Op[] => parseJsonBytes(bytes, "ops") as Op[];
      const body: unknown = parseJsonBytes(reply.body, "the reply");
      const ops = peer.of("WORKER_CHECKPOINT").flatMap((frame) => read(frame.ops));
      return { ops: Array.isArray(body) ? [...ops, ...(body as Op[])] : ops, output: body };
    },
    [Symbol.asyncDispose]: async () => {
      await connection.close();
      await code[Symbol.asyncDispose]();
    },
  };
}

const BODIES = `
  import { threadId } from "node:worker_threads";
  export const add = isolated(import.meta.url, "add", (a, b) => ({ sum: a + b, threadId }));
  export const spin = isolated(import.meta.url, "spin", () => { for (;;); }, { budget: 60 });
  export const wait = isolated(import.meta.url, "wait", () => new Promise((resolve, reject) => {
    console.log("waiting");
    const signal = stepSignal();
    signal.addEventListener("abort", () => {
      console.log("told", signal.reason.name, signal.reason.code ?? "");
      reject(signal.reason);
    });
  }));
`;

describe("Isolated steps", () => {
  it("an isolated step is a step as any other, and only its body runs in a thread", async () => {
    await using running = await run(BODIES, async (step, { add }) => {
      const first = await step.run("first", add as never, 1 as never, 2 as never);
      const inline = await step.run("inline", () => 5);
      return [first, inline];
    });
    const { ops, output } = await running.ended();
    expect(output).toEqual([{ sum: 3, threadId: expect.any(Number) }, 5]);
    expect((output as [{ threadId: number }])[0].threadId).not.toBe(0);
    expect(ops.map(({ op }) => op)).toContain("StepRun");
    expect(running.connection.debugState().isolation).toMatchObject({ threads: 1, busy: 0, overruns: 0, crashes: 0 });
  });

  it("a result of which JSON keeps less than it may seem is named, once, as of a step that runs on main", async () => {
    const source = `export const odd = isolated(import.meta.url, "odd", () => ({ ratio: Number.NaN, tags: new Set() }));`;
    await using running = await run(source, async (step, { odd }) => {
      return [await step.run("odd one", odd as never), await step.run("odd one", odd as never)];
    });
    const { output } = await running.ended();
    expect(output).toEqual(Array(2).fill({ ratio: null, tags: {} }));
    const said = logs.filter(({ message }) => message.includes("odd one"));
    expect(said).toMatchObject([{ level: "warn", message: expect.stringContaining("has at `ratio` NaN") }]);
  });

  it("an overrun fails the attempt of its step by name, and steps beside it go on", async () => {
    await using running = await run(BODIES, (step, { add, spin }) =>
      Promise.all([step.run("spin", spin as never), step.run("add", add as never, 1 as never, 2 as never)]),
    );
    const { ops } = await running.ended();
    const failed = ops.find(({ op }) => op === "StepError");
    expect(failed?.error).toMatchObject({ code: "ISOLATE_BUDGET" });
    expect(failed?.error?.message).toMatch(/^Step "spin" \(attempt 1\) of function "app-go", run run: /);
    expect(ops.filter(({ op }) => op === "StepRun").map(({ data }) => data)).toMatchObject([{ sum: 3 }]);
    expect(running.connection.debugState().isolation).toMatchObject({ overruns: 1 });
  });

  it("a step's timeout counts from when its code begins, and tells it", async () => {
    const slowModule = `await new Promise((resolve) => setTimeout(resolve, 400));`;
    await using running = await run(`${slowModule}${BODIES}`, async (step, { wait, add }) => {
      const sum = await step.run("add", add as never, { timeout: 200, compensate: () => {} }, 1 as never, 2 as never);
      return [sum, await step.run("wait", wait as never, { timeout: 200 } as never)];
    });
    const { ops } = await running.ended();
    // Evaluating the module takes longer than the step may, but it is no part of it.
    expect(ops.find(({ op }) => op === "StepRun")?.data).toMatchObject({ sum: 3 });
    expect(ops.find(({ op }) => op === "StepError")?.error).toMatchObject({ name: "StepTimeoutError" });
    await until(() => logs.find(({ message }) => message.startsWith("told StepTimeoutError")), "the thread to be told");
    const failures = logs.filter(({ message }) => /failed, attempt|thread/.test(message));
    expect(failures).toMatchObject([
      { level: "warn", data: { code: "ATTEMPT_FAILED", err: { code: "STEP_TIMEOUT" } } },
    ]);
  });

  it.each([
    ["LEASE_LOST", "its lease is lost"],
    ["RUN_CANCELLED", "its run is cancelled"],
  ])("isolated code is told when it is not wanted any more: %s, as %s", async (code) => {
    await using running = await run(BODIES, (step, { wait }) => step.run("wait", wait as never), {
      isolation: { threads: 1 },
    });
    const { peer, requestId } = running;
    await until(() => logs.find(({ message }) => message === "waiting"), "the body to wait");
    if (code === "RUN_CANCELLED") peer.send({ kind: "GATEWAY_CANCEL", requestId, reason: "No longer wanted." });
    else gateway.script.extendLeases = false;
    await until(() => logs.find(({ message }) => message === `told HoldfastError ${code}`), "the thread to be told");
    await until(() => running.connection.debugState().runningHandlers === 0, "the handler to end");
    expect(running.connection.debugState().isolation).toMatchObject({ busy: 0, crashes: 0 });
    expect(peer.of("WORKER_REPLY")).toEqual([]);
  });

  it("a step that waits for a thread when its work is lost never begins", async () => {
    await using running = await run(
      BODIES,
      (step, { wait }) => Promise.all([step.run("one", wait as never), step.run("two", wait as never)]),
      { isolation: { threads: 1 } },
    );
    await until(() => running.connection.debugState().isolation.queued === 1, "the second step to wait");
    await until(() => logs.find(({ message }) => message === "waiting"), "the first body to wait");
    running.peer.send({ kind: "GATEWAY_CANCEL", requestId: running.requestId, reason: "No longer wanted." });
    await until(() => running.connection.debugState().runningHandlers === 0, "the handler to end");
    expect(logs.filter(({ message }) => message === "waiting")).toHaveLength(1);
  });

  it("what code prints is logged with its function, run and step", async () => {
    await using running = await run(BODIES, (step, { wait }) => step.run("wait", wait as never));
    const line = await until(() => logs.find(({ message }) => message === "waiting"), "the line");
    expect(line).toMatchObject({ level: "info", data: { function: "app-go", run: "run", step: "wait" } });
    running.peer.send({ kind: "GATEWAY_CANCEL", requestId: running.requestId, reason: "" });
  });

  it("close() lets an isolated step finish", async () => {
    const slow = `export const slow = isolated(import.meta.url, "slow", () => new Promise((resolve) => {
      console.log("slow");
      setTimeout(resolve, 300, "done");
    }));`;
    const drained = await run(slow, (step, { slow: body }) => step.run("slow", body as never));
    await until(() => logs.find(({ message }) => message === "slow"), "the body to run");
    await drained.connection.close();
    expect((await drained.ended()).output).toBe("done");
    expect(drained.connection.debugState().isolation).toMatchObject({ threads: 0, busy: 0 });
    await drained[Symbol.asyncDispose]();
  });

  it("close() ends an isolated step that goes on after the drain", async () => {
    const endless = `export const endless = isolated(import.meta.url, "endless", () => { console.log("endless"); for (;;); });`;
    const forced = await run(endless, (step, { endless: body }) => step.run("endless", body as never), {
      drainTimeout: 50,
    });
    await until(() => logs.find(({ message }) => message === "endless"), "the body to run");
    await forced.connection.close();
    expect(forced.connection.debugState().isolation).toMatchObject({ threads: 0, busy: 0, queued: 0 });
    await forced[Symbol.asyncDispose]();
  });

  it.each([
    [
      "a name that its module marks on the main thread only",
      `
      import { isMainThread } from "node:worker_threads";
      if (isMainThread) isolated(import.meta.url, "hidden", () => 1);`,
      "ISOLATE_MODULE_INVALID",
      '"hidden"',
    ],
    [
      "a module that fails in a thread",
      `
      import { isMainThread } from "node:worker_threads";
      isolated(import.meta.url, "broken", () => 1);
      if (!isMainThread) throw new Error("no such thing here");`,
      "ISOLATE_MODULE_INVALID",
      "no such thing here",
    ],
    [
      "a module that calls connect()",
      `
      import { isMainThread } from "node:worker_threads";
      isolated(import.meta.url, "connects", () => 1);
      if (!isMainThread) globalThis[Symbol.for("holdfast.poolThread")].refuseConnect();`,
      "ISOLATE_CONNECT",
      "In a bundle both may be in one file, whatever the sources are: there, connect only `if (!isPoolThread)`",
    ],
    [
      "a module that starts a server",
      `
      import { createServer } from "node:http";
      isolated(import.meta.url, "serves", () => 1);
      if (isPoolThread) createServer().listen(4321);`,
      "ISOLATE_LISTEN",
      "code.mjs starts a server when it is loaded, on port 4321, and a thread of the pool loads it, too.",
    ],
    [
      "a module that starts a server after an await and catches the error",
      `
      import { Server } from "node:net";
      isolated(import.meta.url, "serves", () => 1);
      await new Promise(setImmediate);
      try {
        if (isPoolThread) new Server().listen({ host: "127.0.0.1", port: 0 });
      } catch {}`,
      "ISOLATE_LISTEN",
      "if (!isPoolThread)",
    ],
    [
      "a module that needs more memory than its code may have",
      `
      import { isMainThread } from "node:worker_threads";
      isolated(import.meta.url, "small", () => 1);
      isolated(import.meta.url, "heavy", () => 1, { memoryMb: 32 });
      if (!isMainThread) globalThis.words = Array.from({ length: 1_200_000 }, (_, at) => ({ at, word: "w" + at }));`,
      "ISOLATE_THREAD_LOST",
      "code.mjs was evaluated. It may use 32 MB",
    ],
    [
      "a module that allocates without end",
      `
      import { isMainThread } from "node:worker_threads";
      isolated(import.meta.url, "endless", () => 1, { memoryMb: 32 });
      for (const all = []; !isMainThread; ) all.push({ at: all.length });`,
      "ISOLATE_THREAD_LOST",
      "ran out of memory",
    ],
  ])("connect() reports %s", async (_what, source, code, text) => {
    const refused = run(source, () => 1);
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
    expect(gateway.starts).toEqual([]);
  });

  it("modules are tried in threads with the limits of their code, also where the pool has one thread only", async () => {
    const source = `
      export const small = isolated(import.meta.url, "small", () => 1, { memoryMb: 32 });
      export const other = isolated(import.meta.url, "other", () => 2, { memoryMb: 64 });
      export const plain = isolated(import.meta.url, "plain", () => 3);`;
    await using running = await run(
      source,
      async (step, { small, other, plain }) => [
        await step.run("small", small as never),
        await step.run("other", other as never),
        await step.run("plain", plain as never),
      ],
      { isolation: { threads: 1 } },
    );
    expect((await running.ended()).output).toEqual([1, 2, 3]);
    expect(running.connection.debugState().isolation).toMatchObject({ crashes: 0, overruns: 0 });
  });

  it("without the option there is a thread for each core but one, at least two", () => {
    expect(defaultIsolation().threads).toBe(Math.max(2, availableParallelism() - 1));
  });

  it.each([
    { isolation: { threads: 0 } },
    { isolation: { threads: 1, warm: 2 } },
    { isolation: { recycleAfter: 0 } },
    { isolation: { maxQueue: 0 } },
    { isolation: { idleTimeout: "soon" } },
    { isolation: { resourceLimits: { stackSizeMb: -1 } } },
    { isolation: { thread: 1 } },
  ])("the option %j is refused", async (options) => {
    const refused = run(BODIES, () => 1, options as ConnectOptions);
    await expect(refused).rejects.toMatchObject({
      code: "OPTION_INVALID",
      message: expect.stringContaining("isolation"),
    });
  });
});
