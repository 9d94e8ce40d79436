/** All scenarios, in the order in which they run. */
import { backlog } from "./backlog.mjs";
import { cores } from "./cores.mjs";
import { ended } from "./ended.mjs";
import { graphScenarios } from "./graphs.mjs";
import { idle } from "./idle.mjs";
import { isolation } from "./isolation.mjs";
import { manyWorkers } from "./many-workers.mjs";
import { resources } from "./resources.mjs";
import { stalls } from "./stalls.mjs";
import { throughput } from "./throughput.mjs";
import { waits } from "./waits.mjs";

/** @type {readonly import("./scenario.mjs").Scenario[]} */
export const scenarios = [
  ...throughput,
  ...waits,
  ...idle,
  ...stalls,
  ...isolation,
  ...graphScenarios,
  ...resources,
  ...backlog,
  ...ended,
  ...manyWorkers,
  ...cores,
];
