/** Runs as fast as they go: their events in requests of a thousand, or one by one. */
import { EventsClient } from "../events-client.mjs";
import { quantile } from "../stats.mjs";
import { costsOfRuns, runsPerSecond, sendAll, WARM_UPS } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 * @typedef {import("./scenario.mjs").Shown} Shown
 */

/**
 * From the first event's request to the last run's end.
 * @param {string} name
 * @param {number} steps of each run
 */
const bulk = (name, steps) => async (/** @type {World} */ world, /** @type {number} */ runs) => {
  const row = await world.runs(runs, () => sendAll(world, `bench/${name}`, runs));
  return { ...row, runsPerSecond: runs / row.seconds, stepsPerSecond: (runs * steps) / row.seconds };
};

const MANY = 1000;

/**
 * Each look into the queue is for all functions that a worker has.
 * @param {World} world
 * @param {number} runs
 */
async function ofManyFunctions(world, runs) {
  await world.appOf("many", { BENCH_FUNCTIONS: String(MANY) });
  const row = await world.runs(runs, () => sendAll(world, "many/one", runs));
  return { ...row, runsPerSecond: runs / row.seconds };
}

const IN_FLIGHT = 32;

/**
 * Each event in a request of its own over connections that stay open, 32 in flight: as events come that users cause.
 * @param {World} world
 * @param {number} runs
 */
async function oneByOne(world, runs) {
  const client = new EventsClient(world.api.url, IN_FLIGHT);
  /** @type {number[]} */
  const answeredMs = [];
  const post = async (/** @type {number} */ index) => {
    const start = performance.now();
    await client.send({ name: "bench/one", data: { index } });
    answeredMs.push(performance.now() - start);
  };
  try {
    const indexes = Array.from({ length: runs }, (_, index) => index).values();
    const sender = async () => {
      for (const index of indexes) await post(index);
    };
    const row = await world.runs(runs, () => Promise.all(Array.from({ length: IN_FLIGHT }, sender)));
    return {
      ...row,
      runsPerSecond: runs / row.seconds,
      answerP50Ms: quantile(answeredMs, 0.5),
      answerP99Ms: quantile(answeredMs, 0.99),
    };
  } finally {
    client.close();
  }
}

/** @type {Shown} */
const stepsPerSecond = { label: "steps/s", value: "stepsPerSecond", digits: 0, better: "higher" };

/** @type {readonly Scenario[]} */
export const throughput = [
  {
    name: "one",
    title: "{n} runs of 1 step, events in requests of 1,000",
    rounds: 5,
    warmUps: WARM_UPS,
    sizes: { tiny: 20, quick: 1000, usual: 3000, large: 20_000 },
    measure: bulk("one", 1),
    shown: [runsPerSecond(7000), ...costsOfRuns],
  },
  {
    name: "functions",
    title: "{n} runs of 1 step of an app that has 1,000 functions",
    rounds: 5,
    warmUps: WARM_UPS,
    own: "scenario",
    world: { workers: 0 },
    sizes: { tiny: 20, quick: 1000, usual: 3000, large: 20_000 },
    measure: ofManyFunctions,
    shown: [runsPerSecond(), ...costsOfRuns],
  },
  {
    name: "single",
    title: "{n} runs of 1 step, each event in a request of its own, 32 in flight",
    rounds: 5,
    warmUps: WARM_UPS,
    sizes: { tiny: 20, quick: 1000, usual: 3000, large: 20_000 },
    measure: oneByOne,
    shown: [
      runsPerSecond(3500),
      { label: "event's request to its answer, p50, ms", value: "answerP50Ms", digits: 1, better: "lower" },
      { label: "the same, p99, ms", value: "answerP99Ms", digits: 1, better: "lower" },
      ...costsOfRuns,
    ],
  },
  {
    name: "sequential",
    title: "{n} runs of 10 sequential steps",
    rounds: 5,
    warmUps: WARM_UPS,
    sizes: { tiny: 5, quick: 300, usual: 1000, large: 5000 },
    measure: bulk("sequential", 10),
    shown: [{ ...stepsPerSecond, aim: 25_000 }, ...costsOfRuns],
  },
  {
    name: "parallel",
    title: "{n} runs of 10 parallel steps",
    rounds: 5,
    warmUps: WARM_UPS,
    sizes: { tiny: 5, quick: 300, usual: 1000, large: 5000 },
    measure: bulk("parallel", 10),
    shown: [{ ...stepsPerSecond, aim: 50_000 }, ...costsOfRuns],
  },
];
