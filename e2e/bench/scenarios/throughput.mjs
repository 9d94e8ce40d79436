/** Runs as fast as they go: their events in requests of a thousand, or one by one. */
import { Agent, request } from "node:http";
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

const IN_FLIGHT = 32;

/**
 * Each event in a request of its own over connections that stay open, 32 in flight: as events come that users cause.
 * @param {World} world
 * @param {number} runs
 */
async function oneByOne(world, runs) {
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const url = new URL("/e/dev", world.api.url);
  /** @type {number[]} */
  const answeredMs = [];
  const post = (/** @type {number} */ index) =>
    new Promise((resolve, reject) => {
      const start = performance.now();
      const body = JSON.stringify({ name: "bench/one", data: { index } });
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const sent = request(url, { method: "POST", agent, headers }, (response) => {
        response.resume().once("end", () => {
          answeredMs.push(performance.now() - start);
          if (response.statusCode === 200) resolve(undefined);
          else reject(new Error(`POST /e/dev answered ${response.statusCode}.`));
        });
      });
      sent.once("error", reject);
      sent.end(body);
    });
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
    agent.destroy();
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
