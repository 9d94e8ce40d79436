import { setImmediate } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { backoffDelayMs } from "@holdfast/core";
import { encodeJsonBytes, parseJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { connect } from "../../src/connection/main/connect.ts";
import { RECONNECT_BACKOFF, resolveConnectOptions } from "../../src/connection/main/resolve-options.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(() => gateway.close());

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const firstPass = (): Uint8Array =>
  encodeJsonBytes({
    version: 2,
    event: { id: "e", name: "app/hello", data: { name: "world" }, ts: 1 },
    events: [{ id: "e", name: "app/hello", data: { name: "world" }, ts: 1 }],
    steps: {},
    ctx: {
      run_id: "run",
      attempt: 0,
      stack: { stack: [], current: 0 },
      disable_immediate_execution: false,
      use_api: false,
      holdfast: { v: 1, retries: {} },
    },
  });

describe("connect()", () => {
  it("a process that connects an app again is warned, until the earlier connection is closed", async () => {
    const warned: unknown[] = [];
    const logger = { ...quiet, warn: (data: unknown, message?: unknown) => void warned.push([data, message]) };
    const serve = (appVersion: string) => {
      const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger, appVersion });
      const hello = client.createFunction({ id: "hello", triggers: { event: "app/hello" } }, () => "hello");
      return connect({ apps: [{ client, functions: [hello] }], handleShutdownSignals: [] });
    };
    const first = await serve("1");
    await using _other = await serve("2");
    expect(warned).toEqual([]);
    await using again = await serve("1");
    expect(warned).toMatchObject([[{ code: "APP_CONNECTED_TWICE" }, expect.stringContaining('the app "app" already')]]);
    await first.close();
    await again.close();
    await using _last = await serve("1");
    expect(warned).toHaveLength(1);
  });

  it("connect() runs a client's function step by step over the connection", async () => {
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet, appVersion: "7" });
    const hello = client.createFunction({ id: "hello", triggers: { event: "app/hello" } }, async ({ event, step }) => {
      const name = await step.run("name", () => (event.data as { name: string }).name);
      return `Hello ${name}`;
    });
    await using _connection = await connect({ apps: [{ client, functions: [hello] }], handleShutdownSignals: [] });
    const peer = await gateway.peer();
    const [app] = peer.connect!.apps;
    expect(app).toMatchObject({ appName: "app", appVersion: "7" });
    expect(parseJsonBytes(app!.functions, "functions")).toMatchObject([{ id: "app-hello" }]);
    gateway.dispatch(peer, { functionSlug: "app-hello", requestPayload: firstPass() });
    const reply = await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    expect(new TextDecoder().decode(reply.body)).toContain("Hello world");
    expect(reply.sdkVersion).toMatch(/^holdfast-js:v\d/);
    expect(peer.of("WORKER_CHECKPOINT")).toHaveLength(1);
  });

  it.each([
    { yieldAfter: "2ms", most: 1 },
    { yieldAfter: false, most: 10 },
  ] as const)("with yieldAfter $yieldAfter of ten bodies that compute 5 ms $most start in one turn", async (given) => {
    const { yieldAfter, most } = given;
    // Where the gateway's last word is old, a body waits for the next one: not here, however slow the machine.
    gateway.script.lease = "1h";
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet });
    let turn = 0;
    let isOver = false;
    const perTurn = new Map<number, number>();
    const body = (): void => {
      perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
      for (const end = performance.now() + 5; performance.now() < end; );
    };
    const compute = client.createFunction({ id: "compute", triggers: [] }, ({ step }) =>
      Promise.all(Array.from({ length: 10 }, (_, index) => step.run(`${index}`, body))),
    );
    const apps = [{ client, functions: [compute] }];
    await using _connection = await connect({ apps, handleShutdownSignals: [], yieldAfter });
    const peer = await gateway.peer();
    const countTurn = (): void => {
      turn += 1;
      if (!isOver) globalThis.setImmediate(countTurn);
    };
    countTurn();
    gateway.dispatch(peer, { functionSlug: "app-compute", requestPayload: firstPass() });
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    isOver = true;
    expect(Math.max(...perTurn.values())).toBe(most);
  });

  it("a function that is wrong rejects connect(), and the thread that had been started for it is gone by then", async () => {
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet });
    const twice = [
      client.createFunction({ id: "one", triggers: [] }, () => 1),
      client.createFunction({ id: "one", triggers: [] }, () => 2),
    ];
    const started: Worker[] = [];
    const onWorker = (worker: Worker): void => void started.push(worker);
    process.on("worker", onWorker);
    await expect(client.connect({ functions: twice })).rejects.toMatchObject({ code: "FUNCTION_DUPLICATE" });
    await setImmediate();
    process.off("worker", onWorker);
    expect(started.map(({ threadId }) => threadId)).toEqual([-1]);
    expect(gateway.starts).toHaveLength(0);
  });

  it("an AbortSignal ends connect() before it is ready, and the connection afterwards", async () => {
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet });
    const apps = [{ client, functions: [] }];
    await expect(connect({ apps, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CONNECT_CLOSED" });
    expect(gateway.starts).toHaveLength(0);
    gateway.script.holdStart = true;
    const early = new AbortController();
    const opening = connect({ apps, signal: early.signal });
    await until(() => gateway.starts.length === 1, "the start call");
    early.abort();
    await expect(opening).rejects.toMatchObject({ code: "CONNECT_CLOSED" });
    gateway.script.holdStart = false;
    const late = new AbortController();
    const connection = await connect({ apps, signal: late.signal });
    late.abort();
    await connection.closed;
    expect(connection.state).toBe("CLOSED");
  });

  it("connect() sends only hashed keys, and the environment's name", async () => {
    const client = new Holdfast({
      id: "app",
      isDev: false,
      baseUrl: gateway.url,
      signingKey: "signkey-test-00112233445566778899aabbccddeeff",
      logger: quiet,
    });
    const connection = await connect({ apps: [{ client, functions: [] }], handleShutdownSignals: [] });
    expect(gateway.starts[0]!.authorization).toBe(
      "Bearer signkey-test-a8faed6abbf35c12a4b26e40f6feb19d736d90045c83b9f9a31f638d323e6811",
    );
    await connection.close();
  });

  it("connect() rejects invalid input with error codes before it starts anything", async () => {
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet });
    const cloud = new Holdfast({ id: "cloud", isDev: false, baseUrl: gateway.url, logger: quiet });
    const apps = [{ client, functions: [] }];
    await expect(connect({ apps: [] })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(connect({} as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(connect(undefined as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(Promise.resolve().then(() => client.connect(undefined as never))).rejects.toThrow(/apps\[0\]/);
    await expect(client.sendSignal(undefined as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(client.connect({ functions: [], conectTimeout: "5s" } as never)).rejects.toThrow(/`conectTimeout`/);
    await expect(connect({ apps: [{ client: {}, functions: [] }] as never })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
    await expect(connect({ apps: [{ client: cloud, functions: [] }] })).rejects.toMatchObject({
      code: "OPTION_MISSING",
    });
    await expect(connect({ apps: [...apps, { client: cloud, functions: [] }] })).rejects.toThrow(/mode/);
    await expect(connect({ apps: [...apps, ...apps] })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(connect({ apps, connectTimeout: "soon" })).rejects.toThrow(/connectTimeout/);
    await expect(connect({ apps, logger: {} as never })).rejects.toThrow(/logger/);
    expect(gateway.starts).toHaveLength(0);
  });
});

describe("Queues of a worker", () => {
  const appWith = (queues: readonly string[]) => {
    const client = new Holdfast({ id: "app", isDev: true, baseUrl: gateway.url, logger: quiet });
    const functions = queues.map((queue, index) =>
      client.createFunction({ id: `in-${index}`, triggers: [], ...(queue === "default" ? {} : { queue }) }, () => 1),
    );
    return [{ client, functions }];
  };

  it("a worker says which queues it serves, by default that of functions which name none", async () => {
    gateway.script.extensions = ["queues"];
    for (const [queues, said] of [
      [undefined, ["default"]],
      [
        ["gpu", "default", "gpu"],
        ["gpu", "default"],
      ],
      [["*"], ["*"]],
    ] as const) {
      const options = queues ? { queues } : {};
      await using _connection = await connect({ apps: appWith(["default"]), handleShutdownSignals: [], ...options });
      const { capabilities } = gateway.peers.at(-1)!.connect!;
      expect(parseJsonBytes(capabilities, "capabilities")).toMatchObject({ holdfast: { queues: said } });
    }
  });

  it("a gateway that does not keep queues apart is refused by a worker that is not to run all of its functions", async () => {
    gateway.script.extensions = [];
    const apps = appWith(["default", "gpu"]);
    const refused = connect({ apps, handleShutdownSignals: [] });
    await expect(refused).rejects.toMatchObject({
      code: "QUEUES_UNSUPPORTED",
      message: expect.stringMatching(/not to run app-in-1 \(gpu\), since it serves the queues default/),
    });
    expect(gateway.peers.at(-1)!.of("WORKER_READY")).toEqual([]);
    await using connection = await connect({ apps, queues: ["default", "gpu"], handleShutdownSignals: [] });
    expect(connection.state).toBe("ACTIVE");
    const off = connect({ apps, extensions: false, handleShutdownSignals: [] });
    await expect(off).rejects.toMatchObject({ code: "OPTION_INVALID", message: expect.stringMatching(/`extensions`/) });
  });

  it("a queue that no function is in is reported once, with its name", async () => {
    gateway.script.extensions = ["queues"];
    const warnings: unknown[] = [];
    const logger = { ...quiet, warn: (...line: unknown[]) => warnings.push(JSON.stringify(line)) };
    const given = { apps: appWith(["gpu"]), queues: ["gpu", "gqu", "default"], handleShutdownSignals: [], logger };
    await using _connection = await connect(given);
    expect(warnings.filter((line) => String(line).includes("QUEUE_EMPTY"))).toHaveLength(1);
    expect(warnings.join()).toContain("gqu");
  });
});

describe("Options of connect()", () => {
  it("options come from the argument, then HOLDFAST_*, then INNGEST_*, then the default", () => {
    const env = {
      INNGEST_CONNECT_MAX_WORKER_CONCURRENCY: "5",
      HOLDFAST_CONNECT_MAX_WORKER_CONCURRENCY: "7",
      INNGEST_CONNECT_GATEWAY_URL: "wss://gateway.example/connect",
      HOLDFAST_EXTENSIONS: "off",
      HOLDFAST_DRAIN_TIMEOUT: "3s",
    };
    expect(resolveConnectOptions({}, env)).toMatchObject({
      maxWorkerConcurrency: 7,
      gatewayUrl: "wss://gateway.example/connect",
      extensions: false,
      drainTimeoutMs: 3_000,
      connectTimeoutMs: 30_000,
      signals: ["SIGINT", "SIGTERM"],
    });
    expect(resolveConnectOptions({ maxWorkerConcurrency: 9, extensions: true }, env)).toMatchObject({
      maxWorkerConcurrency: 9,
      extensions: true,
    });
    const queues = { HOLDFAST_CONNECT_QUEUES: " gpu, default " };
    expect(resolveConnectOptions({}, queues).queues).toEqual(["gpu", "default"]);
    expect(resolveConnectOptions({}, {}).queues).toEqual(["default"]);
    expect(resolveConnectOptions({}, {}).instanceId).not.toBe(resolveConnectOptions({}, {}).instanceId);
  });

  it("an option that there is not is named with the one that was probably meant", () => {
    const options = { drainTimout: "1s" } as object;
    expect(() => resolveConnectOptions(options, {})).toThrow(
      /no option `drainTimout` \(did you mean `drainTimeout`\?\); /,
    );
  });

  it.each([
    ["isolateExecution", /connect\(\) has no option `isolateExecution`: delete it, the connection always has a thread/],
    ["rewriteGatewayEndpoint", /connect\(\) has no option `rewriteGatewayEndpoint`: .*`gatewayUrl`/],
  ])("the option %s of the package inngest is refused with what to do instead", (name, message) => {
    const options = { [name]: true } as object;
    expect(() => resolveConnectOptions(options, {})).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", message: expect.stringMatching(message) }),
    );
  });

  it("in development a gateway that is back is found within two seconds, and a reload drains for one", () => {
    const atMost = (mode: "dev" | "cloud"): number => {
      const delays = Array.from({ length: 40 }, (_, failures) =>
        backoffDelayMs(RECONNECT_BACKOFF[mode], failures, () => 1),
      );
      return Math.max(...delays);
    };
    expect(atMost("dev")).toBe(1_500);
    expect(atMost("cloud")).toBe(30_000);
    expect(RECONNECT_BACKOFF.cloud.jitter).toBeGreaterThan(0);
    const drains = (options: object, mode: "dev" | "cloud"): readonly number[] => {
      const { drainTimeoutMs, signalDrainMs } = resolveConnectOptions(options, {}, mode);
      return [drainTimeoutMs, signalDrainMs];
    };
    expect(drains({}, "dev")).toEqual([25_000, 1_000]);
    expect(drains({}, "cloud")).toEqual([25_000, 25_000]);
    expect(drains({ drainTimeout: "8s" }, "dev")).toEqual([8_000, 8_000]);
  });

  it.each([
    { maxWorkerConcurrency: 0 },
    { queues: [] },
    { queues: "" },
    { queues: ["a b"] },
    { queues: ["gpu", "*"] },
    { queues: ["-gpu"] },
    { queues: ["x".repeat(65)] },
    { queues: [5] },
    { gatewayUrl: "http://example" },
    { extensions: "maybe" },
    { handleShutdownSignals: ["TERM"] },
    { handleShutdownSignals: ["SIGKILL"] },
    { workerUrl: 5 },
    { signal: "SIGTERM" },
    { outbox: { maxCount: 0 } },
    { respawn: { maxCrashes: -1 } },
    { instanceId: "" },
    { instanceId: "a\0b" },
    { instanceId: "a\nb" },
    { instanceId: "x".repeat(300) },
    { handleShutdownSignals: ["SIGFOO"] },
    { resourceLimits: { maxOldGenerationSizeMb: "x" } },
    { resourceLimits: { maxOldGenerationSizeMb: 0 } },
    { resourceLimits: { maxOldGenerationSizeMb: Number.NaN } },
    { resourceLimits: { maxOldSpaceMb: 64 } },
    { resourceLimits: 64 },
    { drainTimout: "5s" },
    { outbox: { max: 5 } },
    { outbox: 5 },
    { respawn: { baseDelay: "1s", retries: 2 } },
  ])("the connect options %j are rejected", (options) => {
    expect(() => resolveConnectOptions(options as never, {})).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID" }),
    );
  });
});
