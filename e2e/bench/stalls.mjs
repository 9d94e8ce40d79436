/** What it costs to watch the main thread, and what is known of one that is blocked. Always beside an app that does not watch. */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * @typedef {import("./world.mjs").BenchWorld} BenchWorld
 * @typedef {import("../support/child.mjs").Child} Child
 */

const OFF = "bench-off";
const offApp = (/** @type {BenchWorld} */ world) => world.appOf(OFF, { HOLDFAST_STALL_THRESHOLD: "off" });

/**
 * Blocks an app for 2 s with a run of one step.
 * @param {BenchWorld} world
 * @param {Child} app
 * @param {string} id
 */
async function block(world, app, id) {
  const finished = app.ask("finished", { count: 1 });
  finished.catch(() => {});
  const [eventId = ""] = await world.api.send({ name: `${id}/blocked`, data: {} });
  await finished;
  const { beganAt, longestGapMs } = await app.ask("blocked");
  return { eventId, beganAt, longestGapMs };
}

/** @type {Set<string>} */
const seen = new Set();

/** When the app's next report comes out of its stderr. */
async function nextReport(/** @type {Child} */ app) {
  const line = await app.line((text) => text.startsWith("holdfast:") && !seen.has(text), 30_000);
  const at = performance.timeOrigin + performance.now();
  seen.add(line);
  return at;
}

/** The first report of an app that blocks for 2 s at a threshold of 1 s, and how long the blocked code was stopped for it. */
export async function blocked(/** @type {BenchWorld} */ world) {
  const off = await block(world, await offApp(world), OFF);
  for (const line of world.app.tail(20_000).split("\n")) if (line.startsWith("holdfast:")) seen.add(line);
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

const RUNS = 200;
const STEPS = 10;

/** @param {BenchWorld} world @param {Child} app @param {string} id */
async function work(world, app, id) {
  const cpuBefore = await app.ask("cpu");
  const start = performance.now();
  const finished = app.ask("finished", { count: RUNS, limitMs: 120_000 });
  finished.catch(() => {});
  await world.api.send(Array.from({ length: RUNS }, (_, index) => ({ name: `${id}/sequential`, data: { index } })));
  await finished;
  const seconds = (performance.now() - start) / 1000;
  const cpuUs = (await app.ask("cpu")) - cpuBefore;
  return { stepsPerSecond: (RUNS * STEPS) / seconds, cpuUsPerStep: cpuUs / (RUNS * STEPS) };
}

/** @param {Child} app */
async function idleCpu(app, ms = 4_000) {
  const before = await app.ask("cpu");
  await sleep(ms);
  return ((await app.ask("cpu")) - before) / (ms / 1000);
}

/** The same work with and without the watch, in turn; and doing nothing. */
export async function watching(/** @type {BenchWorld} */ world) {
  const off = await offApp(world);
  const [a, b, c, d] = [
    await work(world, world.app, "bench"),
    await work(world, off, OFF),
    await work(world, off, OFF),
    await work(world, world.app, "bench"),
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
