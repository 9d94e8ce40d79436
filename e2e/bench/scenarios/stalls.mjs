/** What it costs to watch the main thread, and what is known of one that is blocked. Always beside an app that does not watch. */
import { setTimeout as sleep } from "node:timers/promises";
import { sendAll } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 * @typedef {import("../../support/child.mjs").Child} Child
 */

const OFF = "bench-off";
const offApp = (/** @type {World} */ world) => world.appOf(OFF, { HOLDFAST_STALL_THRESHOLD: "off" });

/**
 * Blocks an app for 2 s with a run of one step.
 * @param {World} world
 * @param {Child} app
 * @param {string} id
 */
async function block(world, app, id) {
  let eventId = "";
  await world.runs(1, async () => {
    [eventId = ""] = await world.api.send({ name: `${id}/blocked`, data: {} });
  });
  const { beganAt, longestGapMs } = await app.ask("blocked");
  return { eventId, beganAt, longestGapMs };
}

/** @type {Set<string>} */
const seen = new Set();
const isReport = (/** @type {string} */ text) => text.startsWith("holdfast:");

/** When the app's next report comes out of its stderr. */
async function nextReport(/** @type {Child} */ app) {
  const line = await app.line((text) => isReport(text) && !seen.has(text), 30_000);
  const at = performance.timeOrigin + performance.now();
  seen.add(line);
  return at;
}

/** The first report of an app that blocks for 2 s at a threshold of 1 s, and how long the blocked code was stopped for it. */
async function blocked(/** @type {World} */ world) {
  const off = await block(world, await offApp(world), OFF);
  for (const line of world.app.tail(20_000).split("\n")) if (isReport(line)) seen.add(line);
  const printed = nextReport(world.app);
  const { eventId, beganAt, longestGapMs } = await block(world, world.app, "bench");
  const stderrAt = await printed;
  const [run] = await world.api.runsOf(eventId);
  const first = run?.stalls[0];
  const right = run?.stalls.every(({ codeName, stepId }) => codeName === "keepBusy" && stepId === "keep busy") ?? false;
  return {
    toStderrMs: stderrAt - beganAt,
    toRunMs: (first?.atMs ?? Number.NaN) - beganAt,
    reports: run?.stalls.length ?? 0,
    named: first !== undefined && right ? 1 : 0,
    gapMs: longestGapMs,
    gapWithoutMs: off.longestGapMs,
  };
}

const STEPS = 10;

/**
 * @param {World} world
 * @param {number} runs
 * @param {Child} app
 * @param {string} id
 */
async function work(world, runs, app, id) {
  const cpuBefore = await app.ask("cpu");
  const { seconds } = await world.runs(runs, () => sendAll(world, `${id}/sequential`, runs));
  const cpuUs = (await app.ask("cpu")) - cpuBefore;
  return { stepsPerSecond: (runs * STEPS) / seconds, cpuUsPerStep: cpuUs / (runs * STEPS) };
}

/** @param {Child} app */
async function idleCpu(app, ms = 4_000) {
  const before = await app.ask("cpu");
  await sleep(ms);
  return ((await app.ask("cpu")) - before) / (ms / 1000);
}

/** The same work with and without the watch, in turn; and doing nothing. */
async function watching(/** @type {World} */ world, /** @type {number} */ runs) {
  const off = await offApp(world);
  const [a, b, c, d] = [
    await work(world, runs, world.app, "bench"),
    await work(world, runs, off, OFF),
    await work(world, runs, off, OFF),
    await work(world, runs, world.app, "bench"),
  ];
  const mean = (/** @type {number} */ one, /** @type {number} */ two) => (one + two) / 2;
  const on = { rate: mean(a.stepsPerSecond, d.stepsPerSecond), cpu: mean(a.cpuUsPerStep, d.cpuUsPerStep) };
  const without = { rate: mean(b.stepsPerSecond, c.stepsPerSecond), cpu: mean(b.cpuUsPerStep, c.cpuUsPerStep) };
  const [idleOn, idleOff] = [await idleCpu(world.app), await idleCpu(off)];
  return {
    rateOn: on.rate,
    rateOff: without.rate,
    rateRatio: on.rate / without.rate,
    cpuRatio: on.cpu / without.cpu,
    idleOnUs: idleOn,
    idleOffUs: idleOff,
    idleRatio: idleOn / idleOff,
  };
}

const UNFAIR = "bench-unfair";
const COMPUTED_MS = 4 * 40;

/**
 * @param {World} world
 * @param {number} runs
 * @param {Child} app
 * @param {string} id
 */
async function compute(world, runs, app, id) {
  await app.ask("watchLoop");
  const { seconds } = await world.runs(runs, () => sendAll(world, `${id}/computing`, runs));
  return { stallMs: await app.ask("longestStall"), share: (runs * COMPUTED_MS) / (seconds * 1000) };
}

/** Runs that compute, with and without turns of the event loop in between. */
async function fairTurns(/** @type {World} */ world, /** @type {number} */ runs) {
  const unfairApp = await world.appOf(UNFAIR, { HOLDFAST_YIELD_AFTER: "off" });
  const fair = await compute(world, runs, world.app, "bench");
  const unfair = await compute(world, runs, unfairApp, UNFAIR);
  return {
    fairMs: fair.stallMs,
    unfairMs: unfair.stallMs,
    stallRatio: fair.stallMs / unfair.stallMs,
    speedRatio: fair.share / unfair.share,
  };
}

/** @type {readonly Scenario[]} */
export const stalls = [
  {
    name: "fair-turns",
    title: "{n} runs of 4 steps that compute 40 ms each, at once; `yieldAfter` on against off",
    rounds: 3,
    sizes: { tiny: 3, quick: 50, usual: 50, large: 50 },
    measure: fairTurns,
    shown: [
      { label: "longest stall of the event loop, ms", value: "fairMs", digits: 0, better: "lower" },
      { label: "the same with `yieldAfter` off, ms", value: "unfairMs", digits: 0, better: "lower" },
      { label: "ratio", value: "stallRatio", digits: 3, better: "lower", aim: 0.25 },
      { label: "ratio of the speed", value: "speedRatio", digits: 3, better: "higher", aim: 0.9 },
    ],
  },
  {
    name: "blocked",
    title: "A step blocks the main thread for 2 s; the threshold is 1 s",
    rounds: 5,
    sizes: { tiny: 1, quick: 1, usual: 1, large: 1 },
    measure: blocked,
    shown: [
      { label: "until stderr names it, ms", value: "toStderrMs", digits: 0, better: "lower", aim: 1_400 },
      { label: "until the run's log has it, ms", value: "toRunMs", digits: 0, better: "lower", aim: 1_500 },
      { label: "right function and step named, of 1", value: "named", digits: 0, better: "higher", aim: 1 },
      { label: "longest stop of the blocked code, ms", value: "gapMs", digits: 1, better: "lower", aim: 50 },
      { label: "the same without the watch, ms", value: "gapWithoutMs", digits: 1, better: "lower" },
    ],
  },
  {
    name: "watching",
    title: "The watch of the main thread, on against off: 4 times {n} runs of 10 steps in turn",
    rounds: 5,
    sizes: { tiny: 5, quick: 200, usual: 200, large: 2000 },
    measure: watching,
    shown: [
      { label: "steps/s with the watch", value: "rateOn", digits: 0, better: "higher" },
      { label: "steps/s without", value: "rateOff", digits: 0, better: "higher" },
      { label: "ratio", value: "rateRatio", digits: 3, better: "higher", aim: 0.97 },
      { label: "ratio of the app's CPU time", value: "cpuRatio", digits: 3, better: "lower", aim: 1.03 },
      { label: "idle app with the watch, µs of CPU a second", value: "idleOnUs", digits: 0, better: "lower" },
      { label: "idle app without", value: "idleOffUs", digits: 0, better: "lower" },
    ],
  },
];
