/** The commands that repair runs. */
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";
import { BULK_OPTIONS, CANCEL_OPTIONS, DELETE_OPTIONS, RERUN_OPTIONS } from "./repair-options.ts";

const args = [{ name: "[run...]", doc: "ids of runs; without any, a filter says which" }];
const RUN = "01JZ6Q4WJ2M6W9S0V7K3N8T5YB";

export const REPAIR_COMMANDS: readonly CommandSpec[] = [
  {
    name: "cancel",
    group: WORK_WITH_IT,
    summary: "cancel runs, by id or by filter",
    description:
      "Cancels runs: steps under way are told so, no further step begins. A run that has ended stays as it is. With a filter\na job at the gateway does it, which goes on when this command is interrupted.",
    args,
    rows: CANCEL_OPTIONS,
    examples: [
      { doc: "One", line: `holdfast-gateway cancel ${RUN}` },
      { doc: "How many a function has", line: "holdfast-gateway cancel --function shop-order --dry-run" },
      { doc: "All of them, in a script", line: "holdfast-gateway cancel --function shop-order --yes" },
      { doc: "Those of a graph", line: "holdfast-gateway cancel --graph onboarding --dry-run" },
    ],
  },
  {
    name: "rerun",
    group: WORK_WITH_IT,
    summary: "run runs again, from the beginning or from a step",
    description:
      "Makes new runs of the same events. With --from a new run keeps the steps that had ended before that one, and goes on\nfrom there, with --result as if the step had given that. With a filter a job at the gateway runs all that fit again\n(those that failed, unless --status says otherwise).",
    args,
    rows: RERUN_OPTIONS,
    examples: [
      { doc: "One", line: `holdfast-gateway rerun ${RUN}` },
      {
        doc: "From a step, with another result of it",
        line: `holdfast-gateway rerun ${RUN} --from load-customer --result '{"id":7}'`,
      },
      {
        doc: "What failed last night",
        line: "holdfast-gateway rerun --function shop-order --after 2027-01-31T00:00:00Z --dry-run",
      },
    ],
  },
  {
    name: "compensate",
    group: WORK_WITH_IT,
    summary: "try again what failed runs could not undo",
    description:
      "Makes failed runs run those compensations again that had failed, and the ones that were to follow. The run tells how\nit went; a run that has undone everything stays as it is. Cancelled runs are not undone: of these it says so, and\nends with 6.",
    args: [{ name: "<run...>", doc: "ids of runs" }],
    rows: CLIENT_OPTIONS,
    examples: [{ doc: "The bank is back", line: `holdfast-gateway compensate ${RUN}` }],
  },
  {
    name: "delete",
    group: WORK_WITH_IT,
    summary: "delete runs that have ended",
    description: "Deletes runs that have ended: their log, and events that no other run has.",
    args,
    rows: DELETE_OPTIONS,
    examples: [
      { doc: "One", line: `holdfast-gateway delete ${RUN}` },
      { doc: "What was cancelled", line: "holdfast-gateway delete --status cancelled --dry-run" },
    ],
  },
  {
    name: "bulk",
    group: WORK_WITH_IT,
    summary: "show jobs that cancel, rerun, resume or delete many runs; stop one",
    description: "Shows how far bulk jobs are, the newest first, or one of them.",
    args: [{ name: "[job]", doc: "the job's id" }],
    rows: BULK_OPTIONS,
    examples: [
      { doc: "All", line: "holdfast-gateway bulk" },
      { doc: "Stop one", line: `holdfast-gateway bulk ${RUN} --stop` },
    ],
  },
];
