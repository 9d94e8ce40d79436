import { fileURLToPath } from "node:url";
import { encodeJsonBytes } from "@holdfast/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleThreadScript, loadThreadScript } from "../../src/thread-script.ts";
import { done, manualStrategy, openTest } from "./harness.ts";
import { openKillable, SMALL_MEMORY } from "./killable.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  await until(() => gateway.openSockets === 0, "no open socket");
  await gateway.close();
});

const impatient = { baseMs: 5, factor: 1, maxMs: 5, jitter: 0, maxCrashes: 2, minUptimeMs: 60_000 };
const patient = { baseMs: 60_000, factor: 1, maxMs: 60_000, jitter: 0, maxCrashes: 5, minUptimeMs: 60_000 };

describe("connect() with a thread that does not start", () => {
  it.each([
    ["hangs while it starts", "for (;;);", "CONNECT_TIMEOUT"],
    ["does nothing", "setInterval(() => {}, 1000);", "CONNECT_TIMEOUT"],
    [
      "does nothing when it gets messages",
      'require("node:worker_threads").parentPort.on("message", () => {});',
      "CONNECT_TIMEOUT",
    ],
    ["ends at once", "", "CONNECTION_FAILED"],
    ["throws", "throw new Error('broken')", "CONNECTION_FAILED"],
    ["cannot be read", "this is no JavaScript", "CONNECTION_FAILED"],
    [
      "sends what main does not know",
      'require("node:worker_threads").parentPort.postMessage({ type: "NOPE" }); setInterval(() => {}, 1000);',
      "CONNECTION_FAILED",
    ],
  ])("connect() rejects in time when the thread %s", async (_what, text, code) => {
    const opening = openTest(gateway.url, {
      script: { text },
      respawn: impatient,
      connectTimeoutMs: code === "CONNECT_TIMEOUT" ? 300 : 20_000,
    });
    const why = code === "CONNECT_TIMEOUT" ? "The connection thread has not started yet" : "";
    await expect(opening).rejects.toMatchObject({ code, message: expect.stringContaining(why) });
  });

  it("connect() rejects with the crash as its last problem while a restart is pending, and starts no other thread", async () => {
    const logs: { level: string; message: string }[] = [];
    const opening = openTest(gateway.url, {
      script: { text: "throw new Error('broken')" },
      respawn: patient,
      connectTimeoutMs: 500,
      logs,
    });
    await expect(opening).rejects.toMatchObject({ code: "CONNECT_TIMEOUT" });
    await expect(opening).rejects.toThrow(/broken/);
  });
});

describe("A thread that keeps crashing", () => {
  it("a thread that keeps crashing ends in FAILED: `closed` rejects, an error is logged, no thread follows, close() returns", async () => {
    const { calls, strategy } = manualStrategy();
    const { connection, kill, logs } = await openKillable(gateway.url, { strategy, respawn: impatient });
    gateway.dispatch(await gateway.peer());
    await until(() => calls.length === 1, "the call");
    const failed = expect(connection.closed).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    for (const crashes of [1, 2, 3]) {
      await gateway.peer(crashes);
      kill();
      await until(() => connection.debugState().crashes === crashes, `crash ${crashes}`);
    }
    await failed;
    expect(connection.state).toBe("FAILED");
    expect(connection.debugState()).toMatchObject({ state: "FAILED", threadAlive: false, crashes: 3, inFlight: 0 });
    expect(
      logs.filter(({ level, message }) => level === "error" && message.includes("not restarted again")),
    ).toHaveLength(1);
    expect(calls[0]!.signal.reason).toMatchObject({ code: "CONNECTION_FAILED" });
    const { length } = gateway.starts;
    await connection.close();
    await connection.close();
    expect(connection.state).toBe("FAILED");
    expect(gateway.starts).toHaveLength(length);
    calls[0]!.result.resolve(done());
  });

  it("the delay between restarts of a crashing thread grows up to its limit", async () => {
    const delays: number[] = [];
    const opening = openTest(gateway.url, {
      script: { text: "process.exit(3)" },
      respawn: { baseMs: 4, factor: 2, maxMs: 20, jitter: 0, maxCrashes: 5, minUptimeMs: 60_000 },
      log: (_level, message) => {
        const delay = /starts in (\d+) ms/.exec(message)?.[1];
        if (delay !== undefined) delays.push(Number(delay));
      },
    });
    await expect(opening).rejects.toThrow(/exited with code 3/);
    expect(delays).toEqual([4, 8, 16, 20, 20]);
  });
});

describe("Memory limits", () => {
  it("memory limits apply to the thread, which works within them and reports when it exceeds them", async () => {
    const { connection, kill, logs } = await openKillable(gateway.url, { resourceLimits: SMALL_MEMORY });
    kill("out of memory");
    await until(() => connection.debugState().crashes === 1 && connection.state === "ACTIVE", "the next thread");
    expect(logs.some(({ level, message }) => level === "error" && /memory/.test(message))).toBe(true);
    await connection.close();
  });
});

describe("The thread script", () => {
  it("the thread's script may come from a file: `workerUrl`", async () => {
    const { script } = await bundleThreadScript();
    const { mkdtemp, rm, writeFile } = await import("node:fs/promises");
    const { tmpdir } = await import("node:os");
    const { join } = await import("node:path");
    const { pathToFileURL } = await import("node:url");
    const folder = await mkdtemp(join(tmpdir(), "holdfast-worker-url-"));
    try {
      const file = join(folder, "thread with a space.cjs");
      await writeFile(file, script);
      for (const url of [file, pathToFileURL(file)]) {
        const { connection } = await openTest(gateway.url, { script: { url } });
        expect(connection.state).toBe("ACTIVE");
        await connection.close();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("a missing thread script is named in the error", async () => {
    const url = fileURLToPath(new URL("nowhere.cjs", import.meta.url));
    const opening = openTest(gateway.url, { script: { url }, respawn: impatient });
    await expect(opening).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    await expect(opening).rejects.toThrow(/nowhere\.cjs/);
  });

  it("the thread's output is read to the end and logged up to a limit", async () => {
    const noise = `for (let line = 0; line < 20_000; line += 1) process.stdout.write("x".repeat(1000) + "\\n");\n`;
    const { connection, logs } = await openTest(gateway.url, { script: { text: noise + (await loadThreadScript()) } });
    const peer = await gateway.peer();
    gateway.dispatch(peer, { requestPayload: encodeJsonBytes("through the noise") });
    await until(() => peer.of("WORKER_REPLY")[0], "the reply");
    await until(() => logs.some(({ message }) => message.includes("is suppressed")), "the end of what is shown");
    expect(logs.filter(({ message }) => message.includes("stdout")).length).toBeLessThan(200);
    await connection.close();
  });

  it("the thread does not see the app's environment and flags", async () => {
    process.env.HOLDFAST_TEST_SECRET = "secret";
    try {
      const spy = `if (process.env.HOLDFAST_TEST_SECRET || process.execArgv.some((flag) => flag !== "--expose-internals")) throw new Error("It sees too much.");\n`;
      const { connection } = await openTest(gateway.url, { script: { text: spy + (await loadThreadScript()) } });
      expect(connection.debugState().crashes).toBe(0);
      await connection.close();
    } finally {
      delete process.env.HOLDFAST_TEST_SECRET;
    }
  });
});
