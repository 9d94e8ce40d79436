/** More processes: what a machine with more cores gains, and whether claims and commits stand in each other's way. */
import { costsOfRuns, runsPerSecond, WARM_UPS } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

/**
 * Events in requests of 250, to all gateways in turn, as a load balancer would spread them.
 * @param {World} world
 * @param {number} runs
 */
async function spreadOut(world, runs) {
  const perRequest = Math.min(250, Math.ceil(runs / 4));
  const requests = Array.from({ length: Math.ceil(runs / perRequest) }, (_, index) => index).values();
  const sender = async () => {
    for (const request of requests) {
      const count = Math.min(perRequest, runs - request * perRequest);
      const events = Array.from({ length: count }, (_, index) => ({ name: "bench/one", data: { index } }));
      await world.apiOf(request).send(events);
    }
  };
  const row = await world.runs(runs, () => Promise.all(Array.from({ length: 8 }, sender)));
  return { ...row, runsPerSecond: runs / row.seconds };
}

const counts = [1, 2, 4];

/** @type {readonly Scenario[]} */
export const cores = counts.flatMap((gateways) =>
  counts.map((workers) => ({
    name: `cores-${gateways}x${workers}`,
    title: `{n} runs of 1 step, gateways: ${gateways}, workers: ${workers}`,
    rounds: 5,
    warmUps: WARM_UPS,
    world: { gateways, workers },
    sizes: { tiny: 20, quick: 2000, usual: 5000, large: 20_000 },
    measure: spreadOut,
    shown: [runsPerSecond(), ...costsOfRuns],
  })),
);
