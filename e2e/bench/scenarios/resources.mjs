/** Memory, large values, and how long a process takes to begin. */
import { fileURLToPath } from "node:url";
import { Child } from "../../support/child.mjs";
import { costsOfRuns, runsPerSecond, sendAll } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 * @typedef {import("./scenario.mjs").Shown} Shown
 */

/**
 * Runs of one step whose result has a megabyte.
 * @param {World} world
 * @param {number} runs
 */
async function large(world, runs) {
  world.forgetPeaks();
  const row = await world.runs(runs, () => sendAll(world, "bench/large", runs));
  const { app, gateway, postgresMb } = world.memory();
  return {
    ...row,
    megabytesPerSecond: runs / row.seconds,
    appPeakMb: app.peak,
    gatewayPeakMb: gateway.peak,
    postgresMb,
  };
}

/**
 * @param {World} world
 * @param {number} runs
 */
async function memory(world, runs) {
  const before = world.memory();
  const row = await world.runs(runs, () => sendAll(world, "bench/one", runs));
  const after = world.memory();
  return {
    ...row,
    runsPerSecond: runs / row.seconds,
    appReadyMb: before.app.now,
    gatewayReadyMb: before.gateway.now,
    appMb: after.app.now,
    gatewayMb: after.gateway.now,
    postgresMb: after.postgresMb,
  };
}

/**
 * From before a worker's process is started until it is connected, and what it needs for that.
 * @param {World} world
 */
async function start(world) {
  const from = performance.timeOrigin + performance.now();
  const app = new Child(fileURLToPath(new URL("../start-app.mjs", import.meta.url)), {
    name: "The app that starts",
    env: { HOLDFAST_DEV: world.api.url, BENCH_SDK: world.build.sdkUrl },
  });
  const { at, importMs, connectMs, cpuMs } = await app.message((message) => message.at !== undefined);
  await app.message((message) => message.ready === true);
  await app.ask("close");
  await app.exited;
  return { readyMs: at - from, importMs, connectMs, cpuMs };
}

/** @param {string} label @param {string} value @returns {Shown} */
const milliseconds = (label, value) => ({ label: `${label}, ms`, value, digits: 0, better: "lower" });
/** @param {string} label @param {string} value @returns {Shown} */
const megabytes = (label, value) => ({ label: `${label}, MB`, value, digits: 0, better: "lower" });

/** @type {readonly Scenario[]} */
export const resources = [
  {
    name: "large",
    title: "{n} runs of 1 step, each with a result of 1 MB",
    rounds: 3,
    own: "scenario",
    sizes: { tiny: 2, quick: 50, usual: 50, large: 200 },
    measure: large,
    shown: [
      { label: "MB/s", value: "megabytesPerSecond", digits: 1, better: "higher", aim: 150 },
      megabytes("app at most", "appPeakMb"),
      megabytes("gateway at most", "gatewayPeakMb"),
      megabytes("Postgres afterwards", "postgresMb"),
      ...costsOfRuns,
    ],
  },
  {
    name: "memory",
    title: "Memory after {n} runs of 1 step",
    rounds: 3,
    warmUps: 0,
    own: "row",
    sizes: { tiny: 20, quick: 2000, usual: 10_000, large: 50_000 },
    measure: memory,
    shown: [
      megabytes("app, just connected", "appReadyMb"),
      { ...megabytes("app afterwards", "appMb"), aim: 120 },
      megabytes("gateway, just started", "gatewayReadyMb"),
      megabytes("gateway afterwards", "gatewayMb"),
      megabytes("Postgres afterwards", "postgresMb"),
      runsPerSecond(),
    ],
  },
  {
    name: "start",
    title: "From a worker's start to ready",
    rounds: 9,
    warmUps: 2,
    world: { workers: 0 },
    sizes: { tiny: 1, quick: 1, usual: 1, large: 1 },
    measure: start,
    shown: [
      { ...milliseconds("process started to connected", "readyMs"), aim: 150 },
      milliseconds('of it import "holdfast"', "importMs"),
      milliseconds("of it connect()", "connectMs"),
      milliseconds("CPU time of the process", "cpuMs"),
    ],
  },
];
