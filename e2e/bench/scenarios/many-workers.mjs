/** Many workers at one gateway: what it takes to connect them, and to have them. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Child } from "../../support/child.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

const PROCESSES = 4;
/** Two heartbeats of each. */
const HOLD_MS = 11_000;
/** Until all of them count as gone. */
const LEAVE_MS = 3_000;

/**
 * @param {World} world
 * @param {number} workers
 */
async function crowd(world, workers) {
  const processes = Array.from(
    { length: Math.min(PROCESSES, workers) },
    () => new Child(fileURLToPath(new URL("../crowd.mjs", import.meta.url)), { name: "The crowd" }),
  );
  try {
    await Promise.all(processes.map((one) => one.message((message) => message.ready === true)));
    const before = await world.usage();
    const start = performance.now();
    await Promise.all(
      processes.map((one, index) => {
        const count = Math.floor((workers + index) / processes.length);
        return one.ask("connect", { url: world.api.url, count, name: `crowd-${index}`, limitMs: 600_000 });
      }),
    );
    const seconds = (performance.now() - start) / 1000;
    const connected = await world.usage();
    const loop = await world.api.eventLoopDelay();
    await sleep(HOLD_MS);
    const held = await world.usage();
    const states = await Promise.all(processes.map((one) => one.ask("state")));
    const sum = (/** @type {string} */ name) => states.reduce((total, state) => total + state[name], 0);
    const gatewayMb = world.memory().gateway.now;
    // What is read begins anew.
    await world.api.eventLoopDelay();
    const staying = await world.usage();
    for (const one of processes) one.kill();
    await Promise.all(processes.map((one) => one.exited));
    await sleep(LEAVE_MS);
    const left = await world.usage();
    const leaveLoop = await world.api.eventLoopDelay();
    return {
      seconds,
      connectsPerSecond: workers / seconds,
      gatewayConnectUs: (connected.gateway - before.gateway) / workers,
      postgresConnectUs: (connected.postgres - before.postgres) / workers,
      loopP99Ms: loop.p99,
      loopMaxMs: loop.max,
      gatewayPercent: (held.gateway - connected.gateway) / (HOLD_MS * 10),
      gatewayMb,
      gatewayLeaveUs: (left.gateway - staying.gateway) / workers,
      leaveLoopMaxMs: leaveLoop.max,
      beats: sum("beats"),
      beatsMissed: sum("beats") - sum("beatsAnswered"),
      lost: sum("lost"),
    };
  } finally {
    // Answers may take a while where ten thousand sockets are closed.
    await Promise.all(
      processes.map(async (one) => {
        if (one.alive) await one.ask("close", { limitMs: 120_000 }).catch(() => one.kill());
        await one.exited;
      }),
    );
  }
}

/** @type {readonly Scenario[]} */
export const manyWorkers = [
  {
    name: "workers",
    title: "{n} workers connect to one gateway",
    rounds: 3,
    warmUps: 0,
    own: "row",
    world: { workers: 0 },
    sizes: { tiny: 8, quick: 500, usual: 1000, large: 10_000 },
    measure: crowd,
    shown: [
      { label: "until all are connected, s", value: "seconds", digits: 2, better: "lower" },
      { label: "CPU of the gateway per connect, µs", value: "gatewayConnectUs", digits: 0, better: "lower" },
      { label: "CPU of Postgres per connect, µs", value: "postgresConnectUs", digits: 0, better: "lower" },
      { label: "gateway's event loop late at p99, ms", value: "loopP99Ms", digits: 1, better: "lower" },
      { label: "the same, at most, ms", value: "loopMaxMs", digits: 1, better: "lower", aim: 50 },
      { label: "CPU of the gateway with all of them, %", value: "gatewayPercent", digits: 1, better: "lower" },
      { label: "gateway, MB", value: "gatewayMb", digits: 0, better: "lower" },
      {
        label: "all leave at once: CPU of the gateway for each, µs",
        value: "gatewayLeaveUs",
        digits: 0,
        better: "lower",
      },
      {
        label: "gateway's event loop late meanwhile, at most, ms",
        value: "leaveLoopMaxMs",
        digits: 1,
        better: "lower",
        aim: 50,
      },
      { label: "heartbeats without an answer yet", value: "beatsMissed", digits: 0, better: "lower" },
      { label: "connections lost", value: "lost", digits: 0, better: "lower" },
    ],
  },
];
