/** Much is there already: jobs that wait for a worker, runs that have ended, runs that sleep. */
import { setTimeout as sleep } from "node:timers/promises";
import { costsOfRuns, runsPerSecond, sendAll } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

/**
 * So many jobs wait; then a worker comes. The figures are those from its start to the last run's end.
 * @param {string} name
 */
const drain = (name) => async (/** @type {World} */ world, /** @type {number} */ jobs) => {
  await world.registerFunctions();
  const start = performance.now();
  await sendAll(world, `bench/${name}`, jobs);
  const queuedPerSecond = jobs / ((performance.now() - start) / 1000);
  const row = await world.runs(jobs, () => world.startWorker(0));
  await world.stopWorkers();
  return { ...row, queuedPerSecond, runsPerSecond: jobs / row.seconds };
};

/** What is measured in a store with so many ended runs. */
const WITH_HISTORY = 3000;

/** @type {WeakMap<World, number>} ended runs of each world */
const ended = new WeakMap();

/**
 * The ended runs are real ones, so that this goes with every layout of the tables.
 * @param {World} world
 * @param {number} history
 */
async function afterHistory(world, history) {
  const portion = 20_000;
  for (let done = ended.get(world) ?? 0; done < history; done += portion) {
    const count = Math.min(portion, history - done);
    await world.runs(count, () => sendAll(world, "bench/one", count));
    ended.set(world, done + count);
  }
  const runs = Math.min(WITH_HISTORY, history);
  const row = await world.runs(runs, () => sendAll(world, "bench/one", runs));
  return { ...row, runsPerSecond: runs / row.seconds };
}

/**
 * Waits for a number of jobs that are due later. The gateway's count may be some seconds old.
 * @param {World} world
 * @param {(later: number) => boolean} isRight
 */
async function until(world, isRight) {
  const limitMs = performance.now() + 20 * 60_000;
  for (let later = await world.laterJobs(); !isRight(later); later = await world.laterJobs()) {
    if (performance.now() > limitMs) throw new Error(`There are ${later} jobs for later.`);
    await sleep(200);
  }
}

/**
 * So many runs sleep, and wake up all at once.
 * @param {World} world
 * @param {number} runs
 */
async function sleepers(world, runs) {
  await until(world, (later) => later === 0);
  await sendAll(world, "bench/sleeping", runs);
  await until(world, (later) => later >= runs);
  const row = await world.runs(runs, () => world.skipTime(2 * 60 * 60_000));
  return { ...row, runsPerSecond: runs / row.seconds };
}

/**
 * Runs whose function may not run more than so often at once.
 * @param {string} name
 */
const inLanes = (name) => async (/** @type {World} */ world, /** @type {number} */ runs) => {
  const row = await world.runs(runs, () => sendAll(world, `bench/${name}`, runs));
  return { ...row, runsPerSecond: runs / row.seconds };
};

const backlogSizes = { tiny: 30, quick: 20_000, usual: 100_000, large: 1_000_000 };

/** @type {readonly Scenario[]} */
export const backlog = [
  {
    name: "lanes",
    title: "{n} runs of 1 step in 100 lanes (concurrency 2 for each key)",
    rounds: 5,
    warmUps: 1,
    sizes: { tiny: 20, quick: 500, usual: 2000, large: 20_000 },
    measure: inLanes("laned"),
    shown: [runsPerSecond(), ...costsOfRuns],
  },
  {
    name: "limit",
    title: "{n} runs of 1 step, 10 at once (concurrency 10)",
    rounds: 5,
    warmUps: 1,
    sizes: { tiny: 20, quick: 500, usual: 2000, large: 20_000 },
    measure: inLanes("limited"),
    shown: [runsPerSecond(), ...costsOfRuns],
  },
  {
    name: "backlog",
    title: "{n} jobs of 1 step wait when the worker starts",
    rounds: 3,
    warmUps: 0,
    own: "scenario",
    world: { workers: 0 },
    sizes: backlogSizes,
    measure: drain("one"),
    shown: [
      runsPerSecond(),
      { label: "queued before, events/s", value: "queuedPerSecond", digits: 0, better: "higher" },
      ...costsOfRuns,
    ],
  },
  {
    name: "backlog-lanes",
    title: "{n} jobs of 1 step in 100 lanes (concurrency 2 for each key) wait when the worker starts",
    rounds: 3,
    warmUps: 0,
    own: "scenario",
    world: { workers: 0 },
    sizes: backlogSizes,
    measure: drain("laned"),
    shown: [runsPerSecond(), ...costsOfRuns],
  },
  {
    name: "history",
    title: "Runs of 1 step in a store with {n} ended runs",
    rounds: 5,
    warmUps: 1,
    own: "scenario",
    sizes: { tiny: 20, quick: 20_000, usual: 100_000, large: 1_000_000 },
    measure: afterHistory,
    shown: [runsPerSecond(), ...costsOfRuns],
  },
  {
    name: "sleepers",
    title: "{n} sleeping runs are due at once",
    rounds: 3,
    warmUps: 0,
    own: "scenario",
    world: { gatewayArgs: ["--virtual-time"] },
    sizes: { tiny: 20, quick: 5000, usual: 20_000, large: 100_000 },
    measure: sleepers,
    shown: [runsPerSecond(8000), ...costsOfRuns],
  },
];
