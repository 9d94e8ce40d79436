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
  gateway = await startTestGateway({ heartbeat: "1s", lease: "100ms" });
});
afterEach(() => gateway.close());

/** So many come while the main thread does not move. */
const HEARTBEATS = 4;
const EXTENSIONS = 15;

/** An app whose handler blocks its thread until it is told to go on. It is a worker, so that the gateway of this test is not blocked with it. */
const APP = `
  import { parentPort, workerData } from "node:worker_threads";
  import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
  import { openConnection } from "./src/connection/main/open-connection.ts";
  import { spawnConnectionThread } from "./src/connection/main/spawn-thread.ts";
  const { config, script, moves } = workerData;
  const strategy = {
    execute: async () => {
      Atomics.wait(moves, 0, 0);
      return { status: "DONE", body: new TextEncoder().encode("1"), noRetry: false, requestVersion: 2 };
    },
  };
  const connection = await openConnection({
    config, strategy, startThread: () => spawnConnectionThread({ script: { text: script } }), signals: [], log: () => {},
    respawn: { baseMs: 20, factor: 2, maxMs: 200, jitter: 0, maxCrashes: 3, minUptimeMs: 1000 },
    connectTimeoutMs: 20000, drainTimeoutMs: 10000,
    clock: systemClock, timers: systemTimers, random: systemRandom,
  });
  parentPort.once("message", async () => {
    await connection.close();
    parentPort.close();
  });
`;

it("a blocked main thread loses neither heartbeats nor leases", async () => {
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
  const moves = new Int32Array(new SharedArrayBuffer(4));
  const workerData = { config: testConfig(gateway.url), script: await loadThreadScript(), moves };
  const app = new Worker(source, { workerData });
  const failed = new Promise<never>((_, reject) => app.once("error", reject));
  failed.catch(() => {});
  const peer = await Promise.race([gateway.peer(), failed]);
  gateway.dispatch(peer);
  await until(() => peer.of("WORKER_REQUEST_ACK")[0], "the acknowledgement");
  const since = peer.frames.length;
  const count = (kind: string): number => peer.frames.slice(since).filter((frame) => frame.kind === kind).length;
  await until(() => count("WORKER_HEARTBEAT") >= HEARTBEATS, "heartbeats");
  await until(() => count("WORKER_REQUEST_EXTEND_LEASE") >= EXTENSIONS, "lease extensions");
  expect(peer.of("WORKER_REPLY")).toEqual([]);
  Atomics.store(moves, 0, 1);
  Atomics.notify(moves, 0);
  await until(() => peer.of("WORKER_REPLY")[0], "the reply");
  expect(gateway.peers).toHaveLength(1);
  const ended = new Promise((resolve) => app.once("exit", resolve));
  app.postMessage("close");
  expect(await ended).toBe(0);
});
