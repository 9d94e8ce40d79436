/** The options of `export`, `replay` and `check`, and what their help says. */
import { duration, integer, type OptionRow, SWITCH, TEXT } from "../config/option-kinds.ts";
import type { Rows } from "../config/settings.ts";
import { CLIENT_OPTIONS, JSON_OPTION, RUNS_OPTIONS } from "./client-options.ts";
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";

const app = {
  kind: TEXT,
  flag: { name: "app", takes: "<file>" },
  variables: ["HOLDFAST_APP"],
  doc: "the module that your app starts with, of the build to look at",
} as const satisfies OptionRow;

const loadTimeout = {
  kind: duration(100),
  flag: { name: "load-timeout", takes: "<duration>" },
  variables: [],
  default: 30_000,
  doc: "how long the module may take to load",
} as const satisfies OptionRow;

const limit = {
  kind: integer(1, 1_000_000),
  flag: { name: "limit", takes: "<n>" },
  variables: [],
  default: 100_000,
  doc: "how many runs at most, the newest first",
} as const satisfies OptionRow;

export const EXPORT_OPTIONS = {
  status: RUNS_OPTIONS.status,
  function: RUNS_OPTIONS.function,
  limit,
  ...CLIENT_OPTIONS,
} as const satisfies Rows;

export const REPLAY_OPTIONS = { app, loadTimeout, ...JSON_OPTION } as const satisfies Rows;

export const CHECK_OPTIONS = {
  app,
  loadTimeout,
  function: RUNS_OPTIONS.function,
  limit,
  all: {
    kind: SWITCH,
    flag: { name: "all", sets: true },
    variables: [],
    default: false,
    doc: "list each run that would differ, not only the first of each function and version",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Rows;

export const REPLAY_COMMANDS: readonly CommandSpec[] = [
  {
    name: "export",
    group: WORK_WITH_IT,
    summary: "write runs with their logs as NDJSON",
    description:
      "Writes runs to stdout, one line of JSON each (format holdfast-run/1): everything that is on record of them, with the\ndata of events and the results of steps. Named ones, or those that the options choose.",
    args: [{ name: "[run...]", doc: "ids of runs" }],
    rows: EXPORT_OPTIONS,
    examples: [
      { doc: "One run", line: "holdfast-gateway export 01JZ6Q4WJ2M6W9S0V7K3N8T5YB > run.ndjson" },
      {
        doc: "What failed of a function",
        line: "holdfast-gateway export --function shop-order --status failed --limit 100 > failed.ndjson",
      },
    ],
  },
  {
    name: "replay",
    group: WORK_WITH_IT,
    summary: "replay exported runs on a build of your app",
    description:
      "Runs the handlers of a build over what is on record of exported runs, and names the first step that is missing, new,\ndifferent or in another order. No body of a step runs, nothing is sent, no gateway is needed. Exit code 7 if one differs.",
    args: [{ name: "<file>", doc: "what export wrote; - is stdin" }],
    rows: REPLAY_OPTIONS,
    examples: [
      { doc: "A build", line: "holdfast-gateway replay run.ndjson --app ./dist/app.js" },
      {
        doc: "Sources in TypeScript, as you run them",
        line: "NODE_OPTIONS='--import tsx' holdfast-gateway replay run.ndjson --app ./src/app.ts",
      },
    ],
  },
  {
    name: "check",
    group: WORK_WITH_IT,
    summary: "before a deploy: would a build go on with all living runs?",
    description:
      "Replays every run of the app's functions that has not ended, as replay does, and says which functions and versions\nwould differ, and where. Exit code 7 if one would.",
    args: [],
    rows: CHECK_OPTIONS,
    examples: [
      {
        doc: "In CI, before a deployment",
        line: "holdfast-gateway check --app ./dist/app.js --url https://holdfast.internal",
      },
      { doc: "Every run that would differ", line: "holdfast-gateway check --app ./dist/app.js --all --json" },
    ],
  },
];
