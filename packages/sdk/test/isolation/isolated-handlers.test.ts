import diagnostics from "node:diagnostics_channel";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LoggerLike } from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../tooling/src/processes.mjs";
import { Holdfast } from "../../src/app/holdfast.ts";
import { startTestGateway, type TestGateway } from "../connection/test-gateway.ts";
import { until } from "../connection/until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ extensions: ["checkpoint", "nack", "cancel", "stall"] });
});
afterEach(() => gateway.close());

const quiet: LoggerLike = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const module = new URL("./handlers/handlers.mjs", import.meta.url);

function app() {
  const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet }, {});
  const isolated = (name: string, file = module) =>
    client.createFunction({ id: name, triggers: [], isolate: { module: file, export: name, budget: "1m" } });
  return { client, isolated };
}

const payloadOf = (data: object): Uint8Array =>
  encodeJsonBytes({
    version: -1,
    event: { id: "e", name: "n", data, ts: 1 },
    events: [],
    steps: {},
    ctx: { attempt: 0, stack: { stack: [], current: 0 }, holdfast: { v: 1, retries: {}, signatures: {} } },
  });
const payload = payloadOf({});

describe("connect() with isolated functions", () => {
  it.each([
    ["an export that does not exist", "missing", module, "ISOLATE_MODULE_INVALID"],
    ["an export that is no function", "text", module, "ISOLATE_MODULE_INVALID"],
    ["a module that throws", "any", new URL("./handlers/broken.mjs", import.meta.url), "ISOLATE_MODULE_INVALID"],
    ["a module that starts a server", "any", new URL("./handlers/listens.mjs", import.meta.url), "ISOLATE_LISTEN"],
    ["a module that exits", "any", new URL("./handlers/exits.mjs", import.meta.url), "ISOLATE_THREAD_LOST"],
  ])("%s is reported before the connection is made, and no thread is left", async (_what, name, file, code) => {
    const { client, isolated } = app();
    await expect(client.connect({ functions: [isolated(name, file)] })).rejects.toMatchObject({ code });
    expect(gateway.starts).toHaveLength(0);
  });

  it("the timeout and the signal of connect() count while modules of isolated code load", async () => {
    const slow = new URL("./handlers/slow.mjs", import.meta.url);
    const { client, isolated } = app();
    const functions = [isolated("any", slow)];
    await expect(client.connect({ functions, connectTimeout: 300 })).rejects.toMatchObject({
      code: "CONNECT_TIMEOUT",
      message: expect.stringContaining("modules of isolated code"),
    });
    // Which one it is, also where it blocks its thread; time enough for the others.
    for (const file of [slow, new URL("./handlers/spins.mjs", import.meta.url)]) {
      const both = [isolated("any", file), isolated("failing")];
      await expect(client.connect({ functions: both, connectTimeout: "10s" })).rejects.toMatchObject({
        code: "CONNECT_TIMEOUT",
        message: expect.stringContaining(`still evaluating ${file.href},`),
      });
    }
    const ending = new AbortController();
    const connecting = client.connect({ functions, signal: ending.signal });
    ending.abort();
    await expect(connecting).rejects.toMatchObject({ code: "CONNECT_CLOSED" });
    expect(gateway.starts).toHaveLength(0);
  });

  it("an attempt that fails in a thread is logged as one that fails on main, once, with its stack", async () => {
    const lines: unknown[][] = [];
    const line =
      (level: string) =>
      (...args: unknown[]): void =>
        void lines.push([level, ...args]);
    const logger = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger }, {});
    const isolate = { module, export: "failing", budget: "1m" } as const;
    const fn = client.createFunction({ id: "failing", triggers: [], isolate });
    const connection = await client.connect({ functions: [fn] });
    try {
      const peer = await gateway.peer();
      const { runId } = gateway.dispatch(peer, { appName: "app", functionSlug: fn.slug, requestPayload: payload });
      const failures = (): unknown[][] => lines.filter(([level]) => level === "warn" || level === "error");
      await until(() => failures().length > 0 && peer.of("WORKER_REPLY").length > 0, "the line and the reply");
      expect(failures()).toEqual([
        [
          "warn",
          expect.objectContaining({
            code: "ATTEMPT_FAILED",
            runId,
            functionSlug: fn.slug,
            stepId: "charge",
            attempt: 0,
          }),
          expect.stringMatching(/^Step "charge" of app-failing failed, attempt 1.*: TypeError: no such card\./),
        ],
      ]);
      expect(JSON.stringify(failures())).toContain("handlers.mjs:");
    } finally {
      await connection.close();
    }
  });

  it("the logger of a plain handler is the app's, with the fields it has on main; its steps are published there", async () => {
    const lines: unknown[] = [];
    const loggerWith = (fields: object): LoggerLike & { child(more: object): LoggerLike } => {
      const line =
        (level: string) =>
        (...args: unknown[]): void =>
          void lines.push([level, fields, ...args]);
      const child = (more: object) => loggerWith({ ...fields, ...more });
      return { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error"), child };
    };
    const heard: unknown[] = [];
    const onStart = (message: unknown): void => void heard.push(message);
    const onEnd = (message: unknown): void => void heard.push(message);
    diagnostics.subscribe("holdfast:step:start", onStart);
    diagnostics.subscribe("holdfast:step:end", onEnd);
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: loggerWith({}) }, {});
    const isolate = { module, export: "logging", budget: "1m" } as const;
    const fn = client.createFunction({ id: "logging", triggers: [], isolate });
    const connection = await client.connect({ functions: [fn] });
    try {
      const peer = await gateway.peer();
      const { requestId, runId } = gateway.dispatch(peer, {
        ...{ appName: "app", functionSlug: fn.slug, requestPayload: payload },
      });
      const isOf = (text: string) => (line: unknown) => Array.isArray(line) && line.includes(text);
      await until(() => lines.some(isOf("in the step")) && heard.length === 2, "the line and the messages");
      const run = { runId, functionSlug: fn.slug };
      expect(lines.find(isOf("in the handler"))).toEqual(["info", { ...run, attempt: 0 }, "in the handler", { n: 1 }]);
      const [level, fields, given] = lines.find(isOf("in the step")) as unknown[];
      expect([level, fields]).toEqual(["warn", { ...run, stepId: "one", attempt: 0 }]);
      expect(given).toContain("given: true");
      expect(heard).toMatchObject([
        { requestId, stepId: "one", kind: "run" },
        { requestId, stepId: "one", status: "completed" },
      ]);
    } finally {
      diagnostics.unsubscribe("holdfast:step:start", onStart);
      diagnostics.unsubscribe("holdfast:step:end", onEnd);
      await connection.close();
    }
  });

  it("a result of which JSON keeps less than it may seem is named in the app's log", async () => {
    const warned: string[] = [];
    const warn = (...args: unknown[]): void => void warned.push(args.map(String).join(" "));
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: { ...quiet, warn } }, {});
    const isolate = { module, export: "lossy", budget: "1m" } as const;
    const fn = client.createFunction({ id: "lossy", triggers: [], isolate });
    const connection = await client.connect({ functions: [fn] });
    try {
      gateway.dispatch(await gateway.peer(), { appName: "app", functionSlug: fn.slug, requestPayload: payload });
      const line = 'The result of step "count" of function "app-lossy" has at `tags` a Set';
      await until(() => warned.some((one) => one.includes(line)), "the warning");
    } finally {
      await connection.close();
    }
  });

  it("one thread is there before the first request, and none after close()", async () => {
    const { client, isolated } = app();
    const connection = await client.connect({ functions: [isolated("hello")] });
    expect(connection.debugState().isolation).toMatchObject({ threads: 1, busy: 0 });
    await connection.close();
    expect(connection.debugState().isolation).toMatchObject({ threads: 0 });
  });

  it("threads are started for requests that wait, up to the limit, and each has one turn", async () => {
    const { client, isolated } = app();
    const { path: folder, remove } = temporaryFolder("holdfast-gate-");
    onTestFinished(remove);
    const gate = join(folder, "gate");
    const fn = isolated("gated");
    const isolation = { threads: 2, idleTimeout: false } as const;
    const connection = await client.connect({ functions: [fn], isolation });
    const peer = await gateway.peer();
    const request = { appName: "app", functionSlug: fn.slug, requestPayload: payloadOf({ gate }) };
    const sent = Array.from({ length: 4 }, () => gateway.dispatch(peer, request));
    await until(() => connection.debugState().isolation.busy === 2, "two turns");
    expect(connection.debugState().isolation).toMatchObject({ threads: 2, queued: 2 });
    expect(connection.debugState().isolation.oldestMs).toBeGreaterThanOrEqual(0);
    await writeFile(gate, "open");
    const replies = (): number => peer.of("WORKER_REPLY").length;
    await until(() => replies() === sent.length, "all replies");
    await until(() => connection.debugState().isolation.busy === 0, "the end of all turns");
    await connection.close();
  });

  it("while main is blocked intake goes on, and leases of isolated requests are not given up", async () => {
    const { client, isolated } = app();
    const fn = isolated("waiting");
    const options = { stallThreshold: 200, maxStall: 400, isolation: { threads: 1 } } as const;
    const plain = client.createFunction({ id: "plain", triggers: [] }, () => new Promise(() => {}));
    const connection = await client.connect({ functions: [fn, plain], ...options, drainTimeout: 0 });
    const peer = await gateway.peer();
    const ofMain = gateway.dispatch(peer, { appName: "app", functionSlug: plain.slug, requestPayload: payload });
    gateway.dispatch(peer, { appName: "app", functionSlug: fn.slug, requestPayload: payload });
    await until(() => peer.of("WORKER_REQUEST_ACK").length === 2, "both acknowledgements");
    // The gateway of this test is blocked with main, and reads afterwards what was sent meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    const nacks = (): string[] => peer.of("WORKER_REQUEST_NACK").map(({ requestId }) => requestId);
    await until(() => nacks().length > 0, "the lease of main's request");
    expect(nacks()).toEqual([ofMain.requestId]);
    expect(peer.of("WORKER_PAUSE")).toEqual([]);
    await connection.close();
  });

  it("HANDLERS-8: a thread in which the module of a handler could not be evaluated is replaced", async () => {
    const { path: folder, remove } = temporaryFolder("holdfast-spent-");
    onTestFinished(remove);
    const [path, away, gate] = ["handler.mjs", "away", "gate"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(
      path,
      `import { existsSync } from "node:fs";
      if (existsSync(${JSON.stringify(away)})) throw new Error("the database is away");
      export const handler = async ({ event: { data } }) => {
        while (data.gate && !existsSync(data.gate)) await new Promise((resolve) => setImmediate(resolve));
      };`,
    );
    const logged: string[] = [];
    const line = (...args: unknown[]): void => void logged.push(String(args.at(-1)));
    const logger = { ...quiet, warn: line, error: line };
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger }, {});
    const isolate = { module: pathToFileURL(path), export: "handler", budget: "1m" } as const;
    const fn = client.createFunction({ id: "work", triggers: [], isolate });
    const isolation = { threads: 2, idleTimeout: false } as const;
    const connection = await client.connect({ functions: [fn], isolation });
    const peer = await gateway.peer();
    const request = (data: object): void =>
      void gateway.dispatch(peer, { appName: "app", functionSlug: fn.slug, requestPayload: payloadOf(data) });
    const pool = () => connection.debugState().isolation;
    const replies = (): number => peer.of("WORKER_REPLY").length;
    // Keeps the thread busy that has evaluated the module.
    request({ gate });
    await until(() => pool().busy === 1, "the first thread's turn");
    await writeFile(away, "");
    request({});
    await until(() => replies() === 1, "the second thread's reply");
    await rm(away);
    await until(() => pool().recycled === 1, "the second thread's end");
    request({});
    await until(() => replies() === 2, "the third thread's reply");
    expect(logged).toEqual([expect.stringContaining("the database is away")]);
    expect(pool()).toMatchObject({ crashes: 0 });
    await writeFile(gate, "");
    await connection.close();
  });
});
