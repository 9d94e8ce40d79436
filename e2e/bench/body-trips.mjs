/**
 * An isolated body and its answer, by the SDK's own pool, against a bare ping-pong with a thread that does nothing; and
 * the memory of the pool's threads.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

const echo = "require('node:worker_threads').parentPort.on('message', function (m) { this.postMessage(m) });";
const THREADS = 4;
const file = new URL("./bodies.mjs", import.meta.url).href;

/**
 * @param {string} sdk the build to measure, as `import()` takes it
 * @param {number} count round trips of each kind
 * @returns {Promise<{ bareUs: number[], bodyUs: number[], threadMb: number }>}
 */
export async function measureBodyTrips(sdk, count) {
  // Not an entry of the package: what all entries share.
  const { createIsolation } = await import(new URL("./sdk.js", sdk).href);
  const options = { threads: THREADS, warm: 0, maxQueue: 10, recycleAfter: null, idleMs: null, resourceLimits: {} };
  const isolation = createIsolation(() => {}, options);
  const bare = new Worker(echo, { eval: true, execArgv: [] });
  try {
    const pool = await isolation.open();
    await once(bare, "online");
    const { signal } = new AbortController();
    const mark = { module: file, name: "nothing", budgetMs: 60_000, memoryMb: 0 };
    const step = { id: "nothing", hash: "hash", attempt: 0 };
    const subject = { requestId: "request", runId: "run", functionSlug: "bench", step };
    const throughPool = () => isolation.run({ mark, args: [], subject, signal, onBegun: () => {} });
    const throughBare = () =>
      new Promise((resolve) => {
        bare.once("message", resolve);
        bare.postMessage({ type: "RUN_BODY", mark, subject, input: new Uint8Array(16) });
      });
    for (let warm = 0; warm < 500; warm++) {
      await throughBare();
      await throughPool();
    }
    /** @type {{ bareUs: number[], bodyUs: number[] }} */
    const result = { bareUs: [], bodyUs: [] };
    // One of each in turn: how fast a sleeping core wakes up decides much of it, and that changes from moment to moment.
    for (let done = 0; done < count; done++) {
      result.bareUs.push(await timed(throughBare));
      result.bodyUs.push(await timed(throughPool));
    }
    const before = await rssMb();
    pool.want(THREADS);
    while (pool.debugState().threads < THREADS || !ready(pool)) await sleep(10);
    return { ...result, threadMb: ((await rssMb()) - before) / (THREADS - 1) };
  } finally {
    await isolation.close();
    await bare.terminate();
  }
}

/** @param {any} pool */
const ready = ({ cells }) =>
  Array.from({ length: THREADS }, (_, slot) => cells.read(slot).state).every((state) => state === "free");

async function rssMb() {
  await sleep(500);
  return process.memoryUsage().rss / 1024 / 1024;
}

/** @param {() => Promise<unknown>} act */
async function timed(act) {
  const from = performance.now();
  await act();
  return 1000 * (performance.now() - from);
}
