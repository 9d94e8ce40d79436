/** All scenarios, in the order in which they run. */
import { idle } from "./idle.mjs";
import { stalls } from "./stalls.mjs";
import { throughput } from "./throughput.mjs";
import { waits } from "./waits.mjs";

/** @type {readonly import("./scenario.mjs").Scenario[]} */
export const scenarios = [...throughput, ...waits, ...idle, ...stalls];
