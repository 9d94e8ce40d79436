/** `prune` and `hold`: what they take, and what their help says. */
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";
import { HOLD_OPTIONS, PRUNE_OPTIONS } from "./retention-options.ts";

export const RETENTION_COMMANDS: readonly CommandSpec[] = [
  {
    name: "prune",
    group: WORK_WITH_IT,
    summary: "remove old runs now, or say what would go",
    description:
      "Removes runs that ended longer ago than they are to be kept, with log and events, as gateways do by themselves now\nand then. What has not ended, is on hold or is still needed stays. With periods of its own it goes by these, for all\nfunctions of the environment.",
    args: [],
    rows: PRUNE_OPTIONS,
    examples: [
      { doc: "What would go", line: "holdfast-gateway prune --dry-run" },
      {
        doc: "With other periods, once",
        line: "holdfast-gateway prune --completed 7d --failed 30d",
      },
    ],
  },
  {
    name: "hold",
    group: WORK_WITH_IT,
    summary: "keep runs whatever their age, until they are released",
    description: "Keeps runs whatever their age, with log and events, until they are released.",
    args: [{ name: "<run...>", doc: "ids of runs" }],
    rows: HOLD_OPTIONS,
    examples: [
      { doc: "Keep one", line: 'holdfast-gateway hold 01JZ6Q4WJ2M6W9S0V7K3N8T5YB --reason "claim 4711"' },
      { doc: "Release it", line: "holdfast-gateway hold 01JZ6Q4WJ2M6W9S0V7K3N8T5YB --release" },
    ],
  },
];
