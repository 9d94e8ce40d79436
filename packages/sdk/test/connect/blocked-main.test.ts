import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadThreadScript } from "../../src/thread-script.ts";
import { testConfig } from "./harness.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { until } from "./until.ts";

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ heartbeat: "100ms", lease: "100ms" });
});
afterEach(() => gateway.close());

/** An app whose handler blocks its thread. It is a worker, so that the gateway of this test is not blocked with it. */
const APP = `
  import { parentPort, workerData } from "node:worker_threads";
  import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
  import { openConnection } from "./src/connect/main/open-connection.ts";
  import { startWorker } from "./src/connect/main/worker.ts";
  const { config, script, blockMs } = workerData;
  const strategy = {
    execute: async () => {
      const endMs = performance.now() + blockMs;
      while (performance.now() < endMs);
      return { status: "DONE", body: new TextEncoder().encode("1"), noRetry: false, requestVersion: 2 };
    },
  };
  const connection = await openConnection({
    config, strategy, startThread: () => startWorker({ script: { text: script } }), signals: [], log: () => {},
    respawn: { baseMs: 20, factor: 2, maxMs: 200, jitter: 0, maxCrashes: 3, minUptimeMs: 1000 },
    connectTimeoutMs: 20000, drainTimeoutMs: 10000,
    clock: systemClock, timers: systemTimers, random: systemRandom,
  });
  parentPort.once("message", async () => {
    await connection.close();
    parentPort.close();
  });
`;

it("a main thread that does not move costs neither heartbeats nor leases", async () => {
  const bundle = await build({
    stdin: { contents: APP, resolveDir: fileURLToPath(new URL("../..", import.meta.url)), loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["esbuild"],
  });
  const source = new URL(`data:text/javascript,${encodeURIComponent(bundle.outputFiles[0]!.text)}`);
  const workerData = { config: testConfig(gateway.url), script: await loadThreadScript(), blockMs: 3_000 };
  const app = new Worker(source, { workerData });
  const failed = new Promise<never>((_, reject) => app.once("error", reject));
  failed.catch(() => {});
  const peer = await Promise.race([gateway.peer(), failed]);
  const before = [peer.of("WORKER_HEARTBEAT").length, peer.of("WORKER_REQUEST_EXTEND_LEASE").length];
  gateway.dispatch(peer);
  await until(() => peer.of("WORKER_REPLY")[0], "the reply");
  const replyAt = peer.frames.findIndex((frame) => frame.kind === "WORKER_REPLY");
  const during = peer.frames.slice(0, replyAt);
  const count = (kind: string): number => during.filter((frame) => frame.kind === kind).length;
  // 30 of each were due; a busy machine may delay some.
  expect(count("WORKER_HEARTBEAT") - before[0]!).toBeGreaterThan(10);
  expect(count("WORKER_REQUEST_EXTEND_LEASE") - before[1]!).toBeGreaterThan(10);
  expect(gateway.peers).toHaveLength(1);
  const ended = new Promise((resolve) => app.once("exit", resolve));
  app.postMessage("close");
  expect(await ended).toBe(0);
});
