/** One run at a time on an idle system, and one message between the threads of a worker. */
import { setTimeout as sleep } from "node:timers/promises";
import { BareSystem } from "../bare/bare-system.mjs";
import { EventsClient } from "../events-client.mjs";
import { median, quantile } from "../stats.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

/**
 * From before the event's request until the app knows that the run's end is durable; and the same way by programs that do
 * nothing else, in turn, since an idle machine wakes up slowly, and not always as slowly.
 * @param {World} world
 * @param {number} runs
 */
async function latency(world, runs) {
  /** @type {number[]} */
  const all = [];
  /** @type {number[]} */
  const bare = [];
  const client = new EventsClient(world.api.url, 1);
  const system = await BareSystem.open(world.databaseUrl);
  try {
    for (let index = 0; index < runs; index++) {
      const event = { name: "bench/one", data: { index } };
      const endedMs = await oneRun(world, client, event);
      await world.idle();
      const bareMs = await system.trip(event);
      await world.idle();
      // The first ones warm up.
      if (index < runs / 10) continue;
      all.push(endedMs);
      bare.push(bareMs);
    }
  } finally {
    client.close();
    await system.close();
  }
  return {
    p50Ms: quantile(all, 0.5),
    p99Ms: quantile(all, 0.99),
    minMs: Math.min(...all),
    maxMs: Math.max(...all),
    bareP50Ms: quantile(bare, 0.5),
    bareP99Ms: quantile(bare, 0.99),
    ratio: quantile(all, 0.5) / quantile(bare, 0.5),
  };
}

/**
 * @param {World} world
 * @param {EventsClient} client
 * @param {object} event
 */
async function oneRun(world, client, event) {
  const armed = world.app.message((message) => message.armed === true);
  const acknowledged = world.app.ask("acknowledged");
  acknowledged.catch(() => {});
  await armed;
  const start = performance.timeOrigin + performance.now();
  await client.send(event);
  return (await acknowledged) - start;
}

/**
 * @param {World} world
 * @param {number} count
 */
async function roundTrips(world, count) {
  await world.api.send({ name: "bench/held", data: {} });
  await world.app.ask("held");
  const { bareUs, threadUs } = await world.app.ask("roundTrips", { count, limitMs: 120_000 });
  await world.app.ask("release");
  const bare = median(bareUs);
  const thread = median(threadUs);
  return { bareUs: bare, threadUs: thread, ratio: thread / bare, threadP99Us: quantile(threadUs, 0.99) };
}

/**
 * @param {World} world
 * @param {number} count
 */
async function isolatedRoundTrips(world, count) {
  await world.appOf("isolated", { BENCH_ISOLATED: "1" });
  const [eventId = ""] = await world.api.send({ name: "isolated/isolated", data: { count } });
  const [run] = await world.api.runsOf(eventId);
  for (;;) {
    const { status, output } = await world.api.run(run?.id ?? "");
    if (status === "FAILED") throw new Error("The isolated run failed.");
    if (status !== "COMPLETED") await sleep(100);
    else return { ...output, ratio: output.threadUs / output.bareUs };
  }
}

/** @type {readonly Scenario[]} */
export const idle = [
  {
    name: "latency",
    title: "Event to durable end on an idle system, {n} runs of 1 step",
    rounds: 3,
    sizes: { tiny: 10, quick: 50, usual: 110, large: 1000 },
    measure: latency,
    shown: [
      { label: "p50, ms", value: "p50Ms", digits: 2, better: "lower", aim: 4 },
      { label: "p99, ms", value: "p99Ms", digits: 2, better: "lower", aim: 10 },
      { label: "bare programs, p50, ms", value: "bareP50Ms", digits: 2, better: "lower" },
      { label: "bare programs, p99, ms", value: "bareP99Ms", digits: 2, better: "lower" },
      { label: "ratio of p50", value: "ratio", digits: 2, better: "lower" },
    ],
  },
  {
    name: "thread",
    title: "Main thread to connection thread and back, {n} times",
    rounds: 3,
    world: { plain: true },
    sizes: { tiny: 50, quick: 1000, usual: 4000, large: 40_000 },
    measure: roundTrips,
    shown: [
      { label: "bare postMessage, µs", value: "bareUs", digits: 1, better: "lower" },
      { label: "through the SDK, µs", value: "threadUs", digits: 1, better: "lower" },
      { label: "ratio", value: "ratio", digits: 2, better: "lower", aim: 1.3 },
    ],
  },
  {
    name: "isolated-thread",
    title: "Pool thread to connection thread and back, {n} times",
    rounds: 3,
    world: { plain: true },
    sizes: { tiny: 50, quick: 1000, usual: 4000, large: 40_000 },
    measure: isolatedRoundTrips,
    shown: [
      { label: "bare postMessage, µs", value: "bareUs", digits: 1, better: "lower" },
      { label: "through the SDK, µs", value: "threadUs", digits: 1, better: "lower" },
      { label: "ratio", value: "ratio", digits: 2, better: "lower", aim: 1.5 },
    ],
  },
];
