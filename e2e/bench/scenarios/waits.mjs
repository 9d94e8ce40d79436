/** Runs that wait for events, and events that end their waits. */
import { costsOfRuns, sendAll, WARM_UPS } from "./scenario.mjs";

/**
 * @typedef {import("./scenario.mjs").World} World
 * @typedef {import("./scenario.mjs").Scenario} Scenario
 */

/**
 * So many runs wait, each for an event of its own; then all those events come.
 * @param {World} world
 * @param {number} runs
 */
async function answers(world, runs) {
  await sendAll(world, "bench/waiting", runs);
  while ((await world.countRuns("WAITING")) < runs) await world.idle();
  const row = await world.runs(runs, () => sendAll(world, "bench/answered", runs));
  return { ...row, answersPerSecond: runs / row.seconds };
}

/** @type {readonly Scenario[]} */
export const waits = [
  {
    name: "answers",
    title: "{n} runs wait, each for an event of its own that names it; then the events come",
    rounds: 5,
    warmUps: WARM_UPS,
    sizes: { tiny: 20, quick: 500, usual: 10000, large: 1000 },
    measure: answers,
    shown: [
      { label: "events/s until the runs end", value: "answersPerSecond", digits: 0, better: "higher", aim: 8000 },
      ...costsOfRuns,
    ],
  },
];
