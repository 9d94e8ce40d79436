/** What is measured: each figure is one object, and one measurement of it is one raw row. */
import { blocked, watching } from "./stalls.mjs";
import { median, quantile } from "./stats.mjs";

/**
 * @typedef {import("./world.mjs").BenchWorld} BenchWorld
 * @typedef {Record<string, number>} Row measured values by name
 *
 * @typedef {object} Figure
 * @property {string} name for `--only`
 * @property {string} title
 * @property {number} times how often it is measured
 * @property {number} [warmUps] how often before, without being counted; default 1
 * @property {boolean} [plain] on a gateway without extensions
 * @property {(world: BenchWorld) => Promise<Row>} measure
 * @property {readonly Shown[]} shown
 *
 * @typedef {object} Shown a line of the table
 * @property {string} label
 * @property {string} value name of a value of the rows; their median is shown
 * @property {number} digits
 * @property {{ at: number, better: "higher" | "lower" } | undefined} [aim]
 */

/**
 * Runs as fast as they go, from the first event's request to the last run's end, by the clock of the database.
 * @param {string} name
 * @param {{ runs: number, steps: number }} size
 */
const throughput =
  (name, { runs, steps }) =>
  async (/** @type {BenchWorld} */ world) => {
    const before = await world.usage();
    const finished = world.app.ask("finished", { count: runs, limitMs: 120_000 });
    finished.catch(() => {});
    const cpuBefore = world.cpu();
    const start = await world.databaseNow();
    await world.api.send(Array.from({ length: runs }, (_, index) => ({ name: `bench/${name}`, data: { index } })));
    const taken = await world.databaseNow();
    await finished;
    const end = await world.lastEnd(runs);
    const cpuAfter = world.cpu();
    const after = await world.usage();
    const seconds = (end - start) / 1000;
    return {
      seconds,
      intakeSeconds: (taken - start) / 1000,
      runsPerSecond: runs / seconds,
      stepsPerSecond: (runs * steps) / seconds,
      commitsPerStep: (after.commits - before.commits) / (runs * steps),
      walBytesPerStep: (after.walBytes - before.walBytes) / (runs * steps),
      appCpuUsPerStep: (cpuAfter.app - cpuBefore.app) / (runs * steps),
      gatewayCpuUsPerStep: (cpuAfter.gateway - cpuBefore.gateway) / (runs * steps),
      postgresCpuUsPerStep: (cpuAfter.postgres - cpuBefore.postgres) / (runs * steps),
      eventLoopP99Ms: (await world.api.eventLoopDelay()).p99,
    };
  };

/** One run at a time on an idle system: from before the event's request until the app knows that its end is durable. */
async function latency(/** @type {BenchWorld} */ world) {
  /** @type {number[]} */
  const all = [];
  for (let index = 0; index < 110; index++) {
    const armed = world.app.message((message) => message.armed === true);
    const acknowledged = world.app.ask("acknowledged");
    acknowledged.catch(() => {});
    await armed;
    const start = performance.timeOrigin + performance.now();
    await world.api.send({ name: "bench/one", data: { index } });
    const end = await acknowledged;
    // The first ones warm up.
    if (index >= 10) all.push(end - start);
    await world.idle();
  }
  await world.app.ask("finished", { count: 110 });
  return { p50Ms: quantile(all, 0.5), p99Ms: quantile(all, 0.99), minMs: Math.min(...all), maxMs: Math.max(...all) };
}

/** So many runs wait, each for an event of its own; then all those events come. */
const answers = (/** @type {number} */ runs) => async (/** @type {BenchWorld} */ world) => {
  const finished = world.app.ask("finished", { count: runs, limitMs: 120_000 });
  finished.catch(() => {});
  const each = (/** @type {string} */ name) =>
    Array.from({ length: runs }, (_, index) => ({ name: `bench/${name}`, data: { index } }));
  await world.api.send(each("waiting"));
  await world.waiting(runs);
  const cpuBefore = world.cpu();
  const start = await world.databaseNow();
  await world.api.send(each("answered"));
  await finished;
  const seconds = ((await world.lastEnd(runs)) - start) / 1000;
  const cpuAfter = world.cpu();
  return {
    seconds,
    answersPerSecond: runs / seconds,
    gatewayCpuUsPerAnswer: (cpuAfter.gateway - cpuBefore.gateway) / runs,
    postgresCpuUsPerAnswer: (cpuAfter.postgres - cpuBefore.postgres) / runs,
  };
};

async function roundTrips(/** @type {BenchWorld} */ world) {
  await world.api.send({ name: "bench/held", data: {} });
  await world.app.ask("held");
  const { bareUs, threadUs } = await world.app.ask("roundTrips", { count: 4000, limitMs: 120_000 });
  await world.app.ask("release");
  await world.app.ask("finished", { count: 1 });
  const bare = median(bareUs);
  const thread = median(threadUs);
  return { bareUs: bare, threadUs: thread, ratio: thread / bare, threadP99Us: quantile(threadUs, 0.99) };
}

/** @type {readonly Shown[]} */
const costs = [
  { label: "WAL bytes per step", value: "walBytesPerStep", digits: 0 },
  { label: "CPU of the app per step, µs", value: "appCpuUsPerStep", digits: 0 },
  { label: "CPU of the gateway per step, µs", value: "gatewayCpuUsPerStep", digits: 0 },
  { label: "CPU of Postgres per step, µs", value: "postgresCpuUsPerStep", digits: 0 },
];

/** App and gateway are measured as they are after some seconds at work: until then half of the time is the compiler's. */
const WARM_UPS = 6;

/** @type {readonly Figure[]} */
export const figures = [
  {
    name: "one",
    title: "1000 runs of 1 step",
    times: 5,
    warmUps: WARM_UPS,
    measure: throughput("one", { runs: 1000, steps: 1 }),
    shown: [
      { label: "runs/s", value: "runsPerSecond", digits: 0, aim: { at: 4000, better: "higher" } },
      { label: "commits per step", value: "commitsPerStep", digits: 3, aim: { at: 0.2, better: "lower" } },
      ...costs,
    ],
  },
  {
    name: "sequential",
    title: "300 runs of 10 sequential steps",
    times: 5,
    warmUps: WARM_UPS,
    measure: throughput("sequential", { runs: 300, steps: 10 }),
    shown: [
      { label: "steps/s", value: "stepsPerSecond", digits: 0, aim: { at: 10_000, better: "higher" } },
      { label: "runs/s", value: "runsPerSecond", digits: 0 },
      { label: "commits per step", value: "commitsPerStep", digits: 3, aim: { at: 0.2, better: "lower" } },
      ...costs,
    ],
  },
  {
    name: "parallel",
    title: "300 runs of 10 parallel steps",
    times: 5,
    warmUps: WARM_UPS,
    measure: throughput("parallel", { runs: 300, steps: 10 }),
    shown: [
      { label: "steps/s", value: "stepsPerSecond", digits: 0, aim: { at: 10_000, better: "higher" } },
      { label: "runs/s", value: "runsPerSecond", digits: 0 },
      { label: "commits per step", value: "commitsPerStep", digits: 3, aim: { at: 0.2, better: "lower" } },
      ...costs,
    ],
  },
  {
    name: "answers",
    title: "1000 runs wait, each for an event of its own that names it; then the events come",
    times: 5,
    warmUps: WARM_UPS,
    measure: answers(1000),
    shown: [
      { label: "events/s until the runs end", value: "answersPerSecond", digits: 0 },
      { label: "CPU of the gateway per event, µs", value: "gatewayCpuUsPerAnswer", digits: 0 },
      { label: "CPU of Postgres per event, µs", value: "postgresCpuUsPerAnswer", digits: 0 },
    ],
  },
  {
    name: "latency",
    title: "Event to durable end on an idle system, 100 runs of 1 step",
    times: 3,
    measure: latency,
    shown: [
      { label: "p50, ms", value: "p50Ms", digits: 2, aim: { at: 5, better: "lower" } },
      { label: "p99, ms", value: "p99Ms", digits: 2, aim: { at: 15, better: "lower" } },
    ],
  },
  {
    name: "blocked",
    title: "A step blocks the main thread for 2 s; the threshold is 1 s",
    times: 5,
    measure: blocked,
    shown: [
      { label: "until stderr names it, ms", value: "toStderrMs", digits: 0, aim: { at: 1_400, better: "lower" } },
      { label: "until the run's log has it, ms", value: "toRunMs", digits: 0, aim: { at: 1_500, better: "lower" } },
      { label: "right function and step named, of 1", value: "named", digits: 0, aim: { at: 1, better: "higher" } },
      { label: "longest stop of the blocked code, ms", value: "gapMs", digits: 1, aim: { at: 50, better: "lower" } },
      { label: "the same without the watch, ms", value: "gapWithoutMs", digits: 1 },
    ],
  },
  {
    name: "watching",
    title: "The watch of the main thread, on against off: 4 times 200 runs of 10 steps in turn",
    times: 5,
    measure: watching,
    shown: [
      { label: "steps/s with the watch", value: "rateOn", digits: 0 },
      { label: "steps/s without", value: "rateOff", digits: 0 },
      { label: "ratio", value: "rateRatio", digits: 3, aim: { at: 0.97, better: "higher" } },
      { label: "ratio of the app's CPU time", value: "cpuRatio", digits: 3, aim: { at: 1.03, better: "lower" } },
      { label: "idle app with the watch, µs of CPU a second", value: "idleOnUs", digits: 0 },
      { label: "idle app without", value: "idleOffUs", digits: 0 },
    ],
  },
  {
    name: "thread",
    title: "Main thread to connection thread and back, 4000 times",
    times: 3,
    plain: true,
    measure: roundTrips,
    shown: [
      { label: "bare postMessage, µs", value: "bareUs", digits: 1 },
      { label: "through the SDK, µs", value: "threadUs", digits: 1 },
      { label: "ratio", value: "ratio", digits: 2, aim: { at: 1.3, better: "lower" } },
    ],
  },
];
