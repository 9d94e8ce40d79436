/**
 * The app of the benchmark: functions whose steps do nothing, so that everything measured is ours. It counts finished
 * handlers and tells the benchmark every few milliseconds. It runs on the build that `BENCH_SDK` names.
 */

import { randomBytes } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { serveTest } from "../fixtures/serve-test.mjs";
import { threads } from "../fixtures/threads.mjs";
import { measureBodyTrips } from "./body-trips.mjs";
import { measureRoundTrips } from "./round-trips.mjs";

/** @type {typeof import("holdfast")} */
const { Holdfast } = await import(process.env.BENCH_SDK ?? "holdfast");

const id = process.env.BENCH_APP ?? "bench";
// Standard output is for results. Builds that are compared may be older than the option.
process.env.HOLDFAST_LOG_LEVEL ??= "warn";
const client = new Holdfast({ id });
const names = Array.from({ length: 10 }, (_, index) => `step-${index}`);

const TELL_MS = 4;
const megabyte = randomBytes(750_000).toString("base64");

let finished = 0;
let telling = false;
const finish = () => {
  finished += 1;
  if (telling) return;
  telling = true;
  setTimeout(() => {
    telling = false;
    if (process.connected) process.send?.({ finished });
  }, TELL_MS);
};

/** @type {(() => void) | undefined} */
let release;

/**
 * @param {string} name
 * @param {(step: any) => Promise<unknown>} body
 * @param {object} [more] options
 */
const define = (name, body, more = {}) =>
  client.createFunction({ ...more, id: name, triggers: { event: `${id}/${name}` } }, async ({ step }) => {
    await body(step);
    finish();
    return "done";
  });

/** @type {{ beganAt: number, longestGapMs: number } | undefined} */
let blocked;

const loopDelay = monitorEventLoopDelay({ resolution: 5 });

/** Every millisecond, which is part of what it shows. */
const LAG_MS = 1;
const loopLag = monitorEventLoopDelay({ resolution: LAG_MS });

/** A loop that looks at the clock all the time: what stops it shows as a gap. */
function keepBusy(/** @type {number} */ ms) {
  const beganAt = performance.timeOrigin + performance.now();
  let longestGapMs = 0;
  let last = performance.now();
  for (const end = last + ms; last < end; ) {
    const now = performance.now();
    if (now - last > longestGapMs) longestGapMs = now - last;
    last = now;
  }
  return { beganAt, longestGapMs };
}

const functions = [
  define("one", (step) => step.run("only", () => 1)),
  define("sequential", async (step) => {
    for (const name of names) await step.run(name, () => 1);
  }),
  // Holds a request in flight until it is released.
  define(
    "held",
    () =>
      new Promise((resolve) => {
        release = () => resolve(undefined);
      }),
  ),
  define("blocked", (step) =>
    step.run("keep busy", () => {
      blocked = keepBusy(2_000);
    }),
  ),
  define("computing", async (step) => {
    for (const name of names.slice(0, 4)) await step.run(name, () => void keepBusy(40));
  }),
  define("waiting", (step) =>
    step.waitForEvent("its own", { event: `${id}/answered`, match: "data.index", timeout: "1h" }),
  ),
  define("sleeping", (step) => step.sleep("a long time", "1h")),
  // As large as it is it cannot be compressed much.
  define("large", (step) => step.run("a megabyte", () => megabyte)),
  define("laned", (step) => step.run("only", () => 1), { concurrency: { limit: 2, key: "event.data.lane" } }),
  define("limited", (step) => step.run("only", () => 1), { concurrency: { limit: 10 } }),
  define("parallel", (step) => Promise.all(names.map((name) => step.run(name, () => 1)))),
];

// Only where it is measured: it has threads of its own.
const isolate = { module: new URL("./isolated.mjs", import.meta.url), export: "roundTrips", budget: "10m" };
if (process.env.BENCH_ISOLATED) {
  functions.push(client.createFunction({ id: "isolated", triggers: { event: `${id}/isolated` }, isolate }));
}

if (process.env.BENCH_BODIES) {
  const { nothing, compute } = await import("./bodies.mjs");
  functions.push(
    define("computing-isolated", async (step) => {
      for (const name of names.slice(0, 4)) await step.run(name, compute, 40);
    }),
    define("sequential-isolated", async (step) => {
      for (const name of names) await step.run(name, nothing);
    }),
  );
}

if (process.env.BENCH_GRAPHS) {
  const { graphFunctions } = await import("./graph-functions.mjs");
  /** @type {any[]} */ (functions).push(...graphFunctions(client, finish));
}

// As large apps have them: nothing happens to most.
for (let index = functions.length; index < Number(process.env.BENCH_FUNCTIONS ?? 0); index++) {
  functions.push(define(`unused-${index}`, () => Promise.resolve()));
}

const connection = await client.connect({ functions });
const thread = threads.find(({ label }) => label === "holdfast-connection");

/** @type {(() => void) | undefined} */
let acknowledged;
let lastRequestId = "";
thread?.on("message", (posted) => {
  for (const message of Array.isArray(posted) ? posted : [posted]) {
    if (message.type === "REPLY_ACKED") acknowledged?.();
    if (message.type === "EXECUTION_REQUEST") lastRequestId = message.requestId;
  }
});

serveTest({
  // Resolves with the instant at which the next run's reply is acknowledged as durable.
  acknowledged: () =>
    new Promise((resolve) => {
      acknowledged = () => {
        acknowledged = undefined;
        resolve(performance.timeOrigin + performance.now());
      };
      process.send?.({ armed: true });
    }),
  held: async () => {
    while (release === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
  },
  blocked: () => blocked,
  watchLoop: () => void loopDelay.enable(),
  // The longest that anything else of this process had to wait since then, milliseconds.
  longestStall: () => {
    loopDelay.disable();
    const longestMs = loopDelay.max / 1e6;
    loopDelay.reset();
    return longestMs;
  },
  watchLag: () => void loopLag.enable(),
  // How late timers of this process were since then, milliseconds.
  lag: () => {
    loopLag.disable();
    const [p99Ms, longestMs] = [loopLag.percentile(99), loopLag.max].map((ns) => Math.max(0, ns / 1e6 - LAG_MS));
    loopLag.reset();
    return { p99Ms, longestMs };
  },
  // CPU time of all threads of this process so far, microseconds.
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  roundTrips: ({ count }) => {
    if (thread === undefined) throw new Error("The SDK started no thread.");
    return measureRoundTrips(thread, lastRequestId, count);
  },
  bodyTrips: ({ count }) => measureBodyTrips(import.meta.resolve(process.env.BENCH_SDK ?? "holdfast"), count),
  release: () => {
    release?.();
    release = undefined;
  },
  close: () => connection.close(),
});
