/** A million runs have ended: what is done, claimed, listed and removed, beside a store that has none. */
import { seedEndedRuns, WEEKS } from "../ended-runs.mjs";
import { quantile } from "../stats.mjs";
import { sendAll } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 * @typedef {import("./scenario.mjs").Shown} Shown
 */

/** Runs that are measured, and so many before them, which do not count. */
const portionOf = (/** @type {number} */ size) => Math.min(3000, Math.ceil(size / 100));

const DAY_MS = 86_400_000;
const before = (/** @type {number} */ ms) => new Date(Date.now() - ms).toISOString();

/** Every filter of the list that its indexes or its conditions treat in another way. */
const FILTERS = /** @type {const} */ ([
  ["all", "no filter", () => ""],
  ["function", "of a function", () => "functionId=bench-parallel"],
  ["rare", "of a function with 20 runs, the oldest", () => "functionId=bench-waiting"],
  ["none", "of a function without runs", () => "functionId=bench-large"],
  ["completed", "completed", () => "status=COMPLETED"],
  ["failed", "failed", () => "status=FAILED"],
  ["running", "running, of which there are none", () => "status=RUNNING"],
  ["failedFunction", "failed, of a function", () => "status=FAILED&functionId=bench-one"],
  ["failedNone", "failed, of a function where none has", () => "status=FAILED&functionId=bench-waiting"],
  ["hour", "of the last hour", () => `after=${before(DAY_MS / 24)}`],
  ["day", "of a day four weeks ago", () => `after=${before(28 * DAY_MS)}&before=${before(27 * DAY_MS)}`],
  ["eventName", "of an event's name that all have", () => "eventName=bench/one"],
  ["noEventName", "of an event's name that none has", () => "eventName=bench/unheard"],
  ["environment", "of another environment", () => "", "staging"],
  ["noEnvironment", "of an environment without runs", () => "", "nowhere"],
]);

const LOOKS = 9;

/**
 * How long each page takes, median of some.
 * @param {World} world
 */
async function pages(world) {
  /** @type {Record<string, number>} */
  const times = {};
  for (const [name, , query, environment] of FILTERS) {
    const headers = environment === undefined ? {} : { "X-Inngest-Env": environment };
    const took = [];
    for (let look = 0; look <= LOOKS; look++) {
      const start = performance.now();
      const answer = await fetch(new URL(`/v1/runs?limit=50&${query()}`, world.api.url), { headers });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`A page (${name}) answered ${answer.status}: ${text}`);
      // The first one plans its statements.
      if (look > 0) took.push(performance.now() - start);
    }
    times[`${name}Ms`] = quantile(took, 0.5);
  }
  return times;
}

/** @param {World} world @param {number} runs */
async function throughput(world, runs) {
  const { seconds } = await world.runs(runs, () => sendAll(world, "bench/one", runs));
  return runs / seconds;
}

/**
 * So many jobs wait when a worker comes.
 * @param {World} world
 * @param {number} jobs
 */
async function claims(world, jobs) {
  await world.stopWorkers();
  await sendAll(world, "bench/one", jobs);
  const { seconds } = await world.runs(jobs, () => world.startWorker(0));
  return jobs / seconds;
}

/**
 * The world beside, and this one with its ended runs.
 * @param {World} world
 * @param {number} size
 */
async function worldsOf(world, size) {
  const others = await world.beside(async (bare) => {
    for (const one of [bare, world]) await throughput(one, portionOf(size));
    await seedEndedRuns(world, size);
  });
  return { bare: others, full: world };
}

/** What both worlds do right after each other, so that a busy minute hits both. @param {World} world @param {number} size */
async function beside(world, size) {
  const { bare, full } = await worldsOf(world, size);
  const count = portionOf(size);
  const rates = { bare: await throughput(bare, count), full: await throughput(full, count) };
  const claimed = { bare: await claims(bare, count), full: await claims(full, count) };
  return {
    bareRunsPerSecond: rates.bare,
    runsPerSecond: rates.full,
    ratio: rates.full / rates.bare,
    claimsPerSecond: claimed.full,
    claimsRatio: claimed.full / claimed.bare,
    ...(await pages(full)),
  };
}

/** @type {(label: string, value: string, digits: number, better?: "higher" | "lower") => Shown} */
const line = (label, value, digits, better = "higher") => ({ label, value, digits, better });

/**
 * Removes what is older than four weeks while runs go on.
 * @param {World} world
 * @param {number} size
 */
async function prune(world, size) {
  const { full } = await worldsOf(world, size);
  const count = portionOf(size);
  const quiet = await throughput(full, count);
  const bytes = async () => Number((await full.sql("SELECT pg_database_size(current_database())::float8 AS n"))[0]?.n);
  const bytesBefore = await bytes();
  const start = performance.now();
  let over = false;
  let removed = 0;
  const removing = (async () => {
    const headers = { "content-type": "application/json" };
    for (/** @type {number | undefined} */ let sinceMs; !over; ) {
      const body = JSON.stringify({
        completed: `${(WEEKS / 2) * 7}d`,
        failed: `${(WEEKS / 2) * 7}d`,
        ...(sinceMs ? { sinceMs } : {}),
      });
      const answer = await fetch(new URL("/v1/prune", full.api.url), { method: "POST", headers, body });
      if (!answer.ok) throw new Error(`/v1/prune answered ${answer.status}: ${await answer.text()}`);
      const piece = /** @type {{ sinceMs: number, removedRuns: number, state: string }} */ (await answer.json());
      sinceMs = piece.sinceMs;
      removed += piece.removedRuns;
      over = piece.state === "done";
    }
    return (performance.now() - start) / 1000;
  })();
  removing.catch(() => {
    over = true;
  });
  const rates = [];
  do rates.push(await throughput(full, count));
  while (!over);
  const seconds = await removing;
  return {
    seconds,
    removed,
    removedPerSecond: removed / seconds,
    freedMb: (bytesBefore - (await bytes())) / 1e6,
    leftMb: (await bytes()) / 1e6,
    ratio: quantile(rates, 0.5) / quiet,
    worstRatio: Math.min(...rates) / quiet,
  };
}

const sizes = { tiny: 1000, quick: 100_000, usual: 1_000_000, large: 1_000_000 };
// The gateway is not to remove by itself what is measured.
const world = { gatewayArgs: ["--retention-completed", "off", "--retention-failed", "off"] };

/** @type {readonly Scenario[]} */
export const ended = [
  {
    name: "ended",
    title: "{n} ended runs of eight weeks, beside a store with none",
    rounds: 5,
    warmUps: 1,
    own: "scenario",
    world,
    onRequest: true,
    sizes,
    measure: beside,
    shown: [
      line("runs of 1 step, runs/s", "runsPerSecond", 0),
      line("the same with no ended runs", "bareRunsPerSecond", 0),
      line("ratio", "ratio", 2),
      line("jobs that wait when the worker comes, runs/s", "claimsPerSecond", 0),
      line("ratio to no ended runs", "claimsRatio", 2),
      ...FILTERS.map(([name, label]) => line(`a page of 50 runs: ${label}, ms`, `${name}Ms`, 1, "lower")),
    ],
  },
  {
    name: "prune",
    title: "{n} ended runs of eight weeks: the older half is removed while runs go on",
    rounds: 1,
    warmUps: 0,
    own: "row",
    world,
    onRequest: true,
    sizes,
    measure: prune,
    shown: [
      line("until all are gone, s", "seconds", 1, "lower"),
      line("runs removed", "removed", 0),
      line("removed, runs/s", "removedPerSecond", 0),
      line("disk space that is free again, MB", "freedMb", 0),
      line("left, MB", "leftMb", 0, "lower"),
      line("runs/s meanwhile, of those before", "ratio", 2),
      line("the same, at worst", "worstRatio", 2),
    ],
  },
];
