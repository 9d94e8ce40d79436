import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { spawnNode } from "@holdfast/testing";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolveConnectOptions } from "../../src/connection/main/resolve-options.ts";
import type { DebugState } from "../../src/connection/shared/debug-state.ts";
import type { ThreadMessage } from "../../src/connection/shared/messages.ts";
import { COUNTERS_BYTES, sharedCounters } from "../../src/connection/shared/shared-counters.ts";
import { createCoalescingPort } from "../../src/connection/thread/coalescing-port.ts";
import { createEmergencyChannel } from "../../src/connection/thread/emergency.ts";
import { createPortLogger } from "../../src/connection/thread/port-logger.ts";
import { createSourceMaps } from "../../src/connection/thread/source-maps.ts";
import { until } from "./until.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-stall-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("Backlog while main is blocked", () => {
  it("of 100,000 log records for a blocked main 500 are kept, and the number of others is reported", () => {
    const counters = sharedCounters(new SharedArrayBuffer(COUNTERS_BYTES));
    const posted: ThreadMessage[] = [];
    const logger = createPortLogger({ post: (message) => posted.push(message) }, counters);
    for (let record = 0; record < 100_000; record++) logger.log("info", `record ${record}`);
    expect(posted).toHaveLength(500);
    expect(logger.dropped).toBe(99_500);
    logger.reportDropped();
    expect(posted.at(-1)).toMatchObject({
      type: "LOG",
      level: "warn",
      message: expect.stringContaining("99500 log records"),
    });
    logger.reportDropped();
    expect(posted).toHaveLength(501);
    counters.addLogsTaken(501);
    logger.log("info", "again");
    expect(posted.at(-1)).toMatchObject({ message: "again" });
  });

  it("debug states and lease extensions keep only their newest value while main is blocked", () => {
    const posted: ThreadMessage[] = [];
    let lagMs = 0;
    const coalescing = createCoalescingPort({ post: (message) => posted.push(message) }, () => lagMs);
    const extended = (requestId: string, leaseId: string): ThreadMessage => ({
      type: "LEASE_EXTENDED",
      requestId,
      leaseId,
      doubtNumber: 1,
      asOf: null,
    });
    const state = (writtenAtMs: number): ThreadMessage => ({
      type: "DEBUG_STATE",
      debug: { writtenAtMs } as DebugState,
      writtenMs: 0,
    });
    coalescing.post(extended("a", "a0"));
    lagMs = 60_000;
    for (let turn = 1; turn <= 1_000; turn++) {
      coalescing.post(extended("a", `a${turn}`));
      coalescing.post(extended("b", `b${turn}`));
      coalescing.post(state(turn));
    }
    coalescing.post({ type: "LEASE_LOST", requestId: "c" });
    expect(posted).toEqual([extended("a", "a0"), { type: "LEASE_LOST", requestId: "c" }]);
    lagMs = 0;
    coalescing.flush();
    expect(posted.slice(2)).toEqual([extended("a", "a1000"), extended("b", "b1000"), state(1_000)]);
    coalescing.flush();
    expect(posted).toHaveLength(5);
  });
});

describe("The thread's stderr", () => {
  it("a file as stderr is written at once", async () => {
    const path = join(folder, "stderr.log");
    const fd = openSync(path, "w");
    const channel = createEmergencyChannel(fd);
    channel.write("one");
    channel.write("two");
    closeSync(fd);
    expect(await readFile(path, "utf8")).toBe("one\ntwo\n");
  });

  it("an unread stderr pipe does not block the thread, and suppressed lines are counted and reported", async () => {
    // It reads once it is told to, which a writer that waits for it never comes to.
    const script = 'process.once("message", () => { process.disconnect(); process.stdin.pipe(process.stdout); })';
    const reader = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "ignore", "ipc"] });
    const output = reader.stdout as Readable;
    let tail = "";
    output.on("data", (chunk: Buffer) => {
      tail = `${tail}${chunk}`.slice(-200);
    });
    try {
      const pipe = reader.stdin as unknown as { _handle: { fd: number } };
      const channel = createEmergencyChannel(pipe._handle.fd);
      channel.write("x".repeat(4 * 1024 * 1024));
      for (let turn = 0; turn < 10; turn++) channel.write("more");
      reader.send("read");
      await until(() => tail.endsWith("x\n"), "the long message");
      await until(() => {
        channel.write("last");
        return tail.includes("last");
      }, "the next one");
      expect(tail).toMatch(/holdfast: 1\d earlier messages could not be written here\.\nlast\n/);
    } finally {
      reader.kill("SIGKILL");
    }
  });

  it("a closed stderr produces neither output nor an error", () => {
    expect(() => createEmergencyChannel(9_999).write("lost")).not.toThrow();
  });
});

describe("Source maps", () => {
  const frame = { functionName: "f", url: "file:///nowhere/app.js", line: 1, column: 1 };

  it("a script whose source map is absent, broken or missing is reported with its own position", async () => {
    const maps = createSourceMaps();
    for (const sourceMapUrl of [
      "",
      "app.js.map",
      "data:application/json;base64,eHg=",
      "https://example.com/app.js.map",
      "::",
    ]) {
      const url = `file:///nowhere/${sourceMapUrl.length}.js`;
      const [mapped] = await maps.map([{ ...frame, url, sourceMapUrl }]);
      expect(mapped).toEqual({ functionName: "f", file: fileURLToPath(url), line: 1, column: 1 });
    }
  });

  it("a source map is found inside the script and next to it", async () => {
    const contents = "type A = 1;\n\nexport function f(): void {\n  throw new Error();\n}\n";
    const options = {
      stdin: { contents, sourcefile: "f.ts", loader: "ts" as const },
      write: false as const,
      minify: true,
      outfile: join(folder, "f.js"),
      format: "esm" as const,
    };
    const inline = await build({ ...options, sourcemap: "inline" });
    const text = inline.outputFiles[0]?.text ?? "";
    const url = `file://${join(folder, "f.js")}`;
    const raw = { ...frame, url, column: text.indexOf("throw") + 1 };
    const sourceMapUrl = text.slice(text.indexOf("data:")).trim();
    const expected = { file: join(folder, "f.ts"), line: 4 };
    expect((await createSourceMaps().map([{ ...raw, sourceMapUrl }]))[0]).toMatchObject(expected);
    const map = Buffer.from(sourceMapUrl.slice(sourceMapUrl.indexOf(",") + 1), "base64");
    await writeFile(join(folder, "f.js.map"), map);
    expect((await createSourceMaps().map([{ ...raw, sourceMapUrl: "f.js.map" }]))[0]).toMatchObject(expected);
  });
});

describe("The option yieldAfter", () => {
  const yieldAfterMs = (options: object, env = {}) => resolveConnectOptions(options, env).yieldAfterMs;

  it("yieldAfter has a default and a variable, and can be switched off", () => {
    expect(yieldAfterMs({})).toBe(10);
    expect(yieldAfterMs({ yieldAfter: "1s" })).toBe(1_000);
    expect(yieldAfterMs({ yieldAfter: false })).toBeNull();
    expect(yieldAfterMs({}, { HOLDFAST_YIELD_AFTER: "off" })).toBeNull();
    expect(yieldAfterMs({}, { HOLDFAST_YIELD_AFTER: "25ms" })).toBe(25);
  });

  it.each([0, -1, true, "soon", "2h"])("yieldAfter %j is rejected", (yieldAfter) => {
    expect(() => yieldAfterMs({ yieldAfter })).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

describe("Stall options", () => {
  const stall = (options: object, env = {}) => resolveConnectOptions(options, env).stall;

  it("stall options have defaults and variables, and can be disabled", () => {
    expect(stall({})).toEqual({ thresholdMs: 1_000, maxStallMs: null });
    expect(stall({ stallThreshold: "250ms", maxStall: "1m" })).toEqual({ thresholdMs: 250, maxStallMs: 60_000 });
    expect(stall({ stallThreshold: false })).toEqual({ thresholdMs: null, maxStallMs: null });
    expect(stall({}, { HOLDFAST_STALL_THRESHOLD: "off" })).toMatchObject({ thresholdMs: null });
    expect(stall({ stallThreshold: "2s" }, { HOLDFAST_STALL_THRESHOLD: "off" })).toMatchObject({ thresholdMs: 2_000 });
    expect(stall({}, { HOLDFAST_MAX_STALL: "30s" })).toEqual({ thresholdMs: 1_000, maxStallMs: 30_000 });
  });

  it.each([
    { stallThreshold: 10 },
    { stallThreshold: true },
    { maxStall: "500ms" },
    { maxStall: "10s", stallThreshold: false },
    { stallThreshold: "soon" },
  ])("the stall options %j are rejected", (options) => {
    expect(() => stall(options)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
  });
});

it.each(["exit", "error"])(
  "a thread that ends by %s at any moment of an inspection leaves main running",
  async (how) => {
    const worker = `
    import { parentPort, workerData } from "node:worker_threads";
    import { systemClock, systemTimers } from "@holdfast/core";
    import { inspectorRole } from "./src/connection/shared/inspector-role.ts";
    import { sharedCounters } from "./src/connection/shared/shared-counters.ts";
    import { createInspectorSessions } from "./src/connection/thread/inspector-sessions.ts";
    import { captureMainStack } from "./src/connection/thread/main-stack.ts";
    import { StallWatch } from "./src/connection/thread/stall-watch.ts";
    import { endAfterInspection } from "./src/connection/thread/inspector-sessions.ts";
    const inspectorSessions = createInspectorSessions();
    const exit = endAfterInspection(inspectorSessions);
    const nothing = () => {};
    const watch = new StallWatch({
      mainCpu: () => ({ restart: () => {}, readWaitedMs: () => 0 }),
      policy: { thresholdMs: 40, maxStallMs: null, noStack: null },
      firstSequence: 0,
      counters: sharedCounters(workerData.memory),
      role: inspectorRole(new SharedArrayBuffer(256), 1),
      clock: systemClock,
      timers: systemTimers,
      log: nothing,
      inFlight: { unfinished: () => [] },
      emergency: { write: nothing },
      maps: { map: async () => [] },
      inspectorSessions,
      capture: (timers, handlers) => {
        const onSnapshot = (snapshot) => {
          parentPort.postMessage("seen");
          handlers.onSnapshot(snapshot);
        };
        const capture = captureMainStack(timers, { ...handlers, onSnapshot });
        parentPort.postMessage("begun");
        setTimeout(() => {
          watch.stop();
          if (${JSON.stringify(how)} === "exit") exit(1);
          else throw new Error("A mistake.");
        }, workerData.afterMs);
        return capture;
      },
    }, nothing);
    parentPort.on("message", nothing);
    parentPort.postMessage("up");
  `;
    const resolveDir = fileURLToPath(new URL("../..", import.meta.url));
    const bundle = await build({
      stdin: { contents: worker, resolveDir },
      bundle: true,
      write: false,
      format: "cjs",
      platform: "node",
    });
    const main = `
    import { Worker } from "node:worker_threads";
    import { once } from "node:events";
    const script = ${JSON.stringify(bundle.outputFiles[0]?.text)};
    const memory = new SharedArrayBuffer(${COUNTERS_BYTES});
    setInterval(() => Atomics.add(new Int32Array(memory), 0, 1), 5).unref();
    let begun = 0;
    let seen = 0;
    for (let round = 0; round < 16; round++) {
      const worker = new Worker(script, { eval: true, workerData: { memory, afterMs: 2 * round } });
      worker.on("error", () => {});
      worker.on("message", (text) => {
        if (text === "begun") begun += 1;
        if (text === "seen") seen += 1;
      });
      const exited = new Promise((resolve) => worker.once("exit", resolve));
      await once(worker, "message");
      for (const end = performance.now() + 200; performance.now() < end; );
      await exited;
    }
    console.log(JSON.stringify({ begun, seen }));
  `;
    await writeFile(join(folder, "main.mjs"), main);
    await using child = spawnNode(join(folder, "main.mjs"));
    const { begun, seen } = JSON.parse(await child.waitForLine((text) => text.startsWith("{"), { timeoutMs: 60_000 }));
    expect(begun, "sessions were begun").toBeGreaterThan(6);
    expect(seen, "some were not done").toBeLessThan(16);
    expect((await child.exited).code).toBe(0);
  },
  90_000,
);
