/** What it costs to run the body of a step in a thread of the pool. */
import { median, quantile } from "../stats.mjs";
import { sendAll } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

const APP = "bodies";
const appOf = (/** @type {World} */ world) => world.appOf(APP, { BENCH_BODIES: "1" });

/**
 * @param {World} world
 * @param {number} count
 */
async function bodyTrips(world, count) {
  const app = await appOf(world);
  const { bareUs, bodyUs, threadMb } = await app.ask("bodyTrips", { count, limitMs: 120_000 });
  const [bare, body] = [median(bareUs), median(bodyUs)];
  return { bareUs: bare, bodyUs: body, ratio: body / bare, bodyP99Us: quantile(bodyUs, 0.99), threadMb };
}

/**
 * @param {World} world
 * @param {number} runs
 */
async function emptyBodies(world, runs) {
  await appOf(world);
  const rate = async (/** @type {string} */ name) =>
    runs / (await world.runs(runs, () => sendAll(world, `${APP}/${name}`, runs))).seconds;
  const inline = await rate("sequential");
  const isolated = await rate("sequential-isolated");
  return { inline: inline * 10, isolated: isolated * 10, ratio: isolated / inline };
}

/**
 * How late the event loop of an app is whose steps compute 40 ms each.
 * @param {World} world
 * @param {number} runs
 */
async function computing(world, runs) {
  const app = await appOf(world);
  const lagOf = async (/** @type {string} */ name) => {
    await app.ask("watchLag");
    const { seconds } = await world.runs(runs, () => sendAll(world, `${APP}/${name}`, runs));
    return { ...(await app.ask("lag")), seconds };
  };
  const inline = await lagOf("computing");
  const isolated = await lagOf("computing-isolated");
  return {
    ...{ inlineP99Ms: inline.p99Ms, inlineLongestMs: inline.longestMs, inlineSeconds: inline.seconds },
    ...{ isolatedP99Ms: isolated.p99Ms, isolatedLongestMs: isolated.longestMs, isolatedSeconds: isolated.seconds },
    ratio: isolated.p99Ms / inline.p99Ms,
  };
}

/** @type {readonly Scenario[]} */
export const isolation = [
  {
    name: "isolated-bodies",
    title: "{n} bodies that do nothing, to a thread of the pool and back, against a bare ping-pong; memory of a thread",
    rounds: 3,
    sizes: { tiny: 50, quick: 2_000, usual: 5_000, large: 20_000 },
    measure: bodyTrips,
    shown: [
      { label: "bare ping-pong, µs", value: "bareUs", digits: 0, better: "lower" },
      { label: "isolated body, µs", value: "bodyUs", digits: 0, better: "lower" },
      { label: "ratio", value: "ratio", digits: 2, better: "lower", aim: 1.5 },
      { label: "isolated body, p99, µs", value: "bodyP99Us", digits: 0, better: "lower" },
      { label: "memory of a thread, MB", value: "threadMb", digits: 1, better: "lower" },
    ],
  },
  {
    name: "isolated-steps",
    title: "{n} runs of 10 steps that do nothing, isolated against inline",
    rounds: 3,
    sizes: { tiny: 3, quick: 100, usual: 300, large: 1_000 },
    measure: emptyBodies,
    shown: [
      { label: "steps/s inline", value: "inline", digits: 0, better: "higher" },
      { label: "steps/s isolated", value: "isolated", digits: 0, better: "higher" },
      { label: "ratio", value: "ratio", digits: 2, better: "higher" },
    ],
  },
  {
    name: "isolated-computing",
    title: "{n} runs of 4 steps that compute 40 ms each: how late the app's event loop is, isolated against inline",
    rounds: 3,
    sizes: { tiny: 3, quick: 20, usual: 50, large: 100 },
    measure: computing,
    shown: [
      { label: "inline, p99, ms", value: "inlineP99Ms", digits: 1, better: "lower" },
      { label: "inline, at most, ms", value: "inlineLongestMs", digits: 1, better: "lower" },
      { label: "inline, all runs, s", value: "inlineSeconds", digits: 2, better: "lower" },
      { label: "isolated, p99, ms", value: "isolatedP99Ms", digits: 1, better: "lower", aim: 5 },
      { label: "isolated, at most, ms", value: "isolatedLongestMs", digits: 1, better: "lower" },
      { label: "isolated, all runs, s", value: "isolatedSeconds", digits: 2, better: "lower" },
      { label: "ratio of p99", value: "ratio", digits: 3, better: "lower" },
    ],
  },
];
