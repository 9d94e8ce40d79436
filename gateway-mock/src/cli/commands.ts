/** Every command: what it takes, what its help says, by which examples. What it does is in `run-command.ts`. */
import { COMMAND_OPTIONS } from "../config/command-options.ts";
import { flagRows } from "../config/modes.ts";
import { SWITCH } from "../config/option-kinds.ts";
import { GATEWAY_OPTIONS } from "../config/option-table.ts";
import type { Rows } from "../config/settings.ts";
import {
  CLIENT_OPTIONS,
  JSON_OPTION,
  RUN_OPTIONS,
  RUNS_OPTIONS,
  SEND_OPTIONS,
  SIGNAL_OPTIONS,
  TAIL_OPTIONS,
} from "./client-options.ts";
import { type CommandSpec, KEYS, RUN_A_GATEWAY, WORK_WITH_IT } from "./command-spec.ts";
import { DOCTOR_OPTIONS } from "./doctor-options.ts";
import { FAULT_COMMANDS } from "./fault-options.ts";
import { GRAPH_COMMANDS } from "./graph-commands.ts";
import { OPERATE_COMMANDS } from "./operate-commands.ts";
import { REPAIR_COMMANDS } from "./repair-commands.ts";
import { REPLAY_COMMANDS } from "./replay-options.ts";
import { RETENTION_COMMANDS } from "./retention-commands.ts";
import { TORTURE_COMMAND } from "./torture-options.ts";

const { databaseUrl, signingKey, signingKeyFallback, eventKey, keys } = GATEWAY_OPTIONS;

export const MIGRATE_OPTIONS = {
  databaseUrl,
  dryRun: {
    kind: SWITCH,
    flag: { name: "dry-run", sets: true },
    variables: [],
    default: false,
    doc: "only say what would be done",
  },
  config: COMMAND_OPTIONS.config,
  ...JSON_OPTION,
} as const satisfies Rows;

export const KEYS_CREATE_OPTIONS = {
  name: {
    ...CLIENT_OPTIONS.env,
    flag: { name: "name", takes: "<name>" },
    variables: [],
    default: "prod",
    doc: "what the signing key's prefix says, as in signkey-prod-",
  },
  ...JSON_OPTION,
} as const satisfies Rows;

export const KEYS_LIST_OPTIONS = {
  signingKey,
  signingKeyFallback,
  eventKey,
  keys,
  config: COMMAND_OPTIONS.config,
  ...JSON_OPTION,
} as const satisfies Rows;

export const KEYS_HASH_OPTIONS = { signingKey, ...JSON_OPTION } as const satisfies Rows;

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "dev",
    group: RUN_A_GATEWAY,
    summary: "on your machine: its own Postgres, no keys needed",
    description:
      "Runs a gateway for development and tests: it starts a Postgres of its own unless you name one, needs no keys on\nthis machine, and can be told to keep everything in memory or to let time be skipped.",
    args: [],
    rows: { ...flagRows("dev"), ...COMMAND_OPTIONS },
    examples: [
      { doc: "Data in .holdfast, http://localhost:8288", line: "holdfast-gateway dev" },
      { doc: "Ready at once, everything gone at the end", line: "holdfast-gateway dev --store memory" },
      { doc: "On your own Postgres", line: "holdfast-gateway dev --database-url postgres://localhost/shop" },
      { doc: "What is set, and where", line: "holdfast-gateway dev --print-config" },
    ],
  },
  {
    name: "start",
    group: RUN_A_GATEWAY,
    summary: "in production: your Postgres, keys required, JSON logs",
    description:
      "Runs a gateway for production: on your Postgres, with keys, without routes for tests, with JSON logs on stderr. What\nis missing is said at once, all of it. Any number of gateways may share a database.",
    args: [],
    rows: { ...flagRows("start"), ...COMMAND_OPTIONS },
    examples: [
      {
        doc: "Database and keys from the environment",
        line: "holdfast-gateway start --host 0.0.0.0 --config holdfast.json",
      },
      { doc: "New keys, once; apps and gateways get them", line: "holdfast-gateway keys create > holdfast.env" },
      {
        doc: "All in one line",
        line: "HOLDFAST_DATABASE_URL=postgres://… HOLDFAST_SIGNING_KEY=… HOLDFAST_EVENT_KEY=… holdfast-gateway start --host 0.0.0.0",
      },
    ],
  },
  {
    name: "migrate",
    group: RUN_A_GATEWAY,
    summary: "bring the database's schema up to date",
    description:
      "Brings the schema of your database up to date, as a gateway does when it starts. Run it before a deployment, with\na user who may create tables, so that gateways need not.",
    args: [],
    rows: MIGRATE_OPTIONS,
    examples: [
      {
        doc: "What would be done",
        line: "holdfast-gateway migrate --dry-run --database-url postgres://localhost/shop",
      },
      { doc: "Do it", line: "holdfast-gateway migrate --database-url postgres://localhost/shop" },
    ],
  },
  {
    name: "doctor",
    group: RUN_A_GATEWAY,
    summary: "check machine, database, keys, and a run from end to end",
    description:
      "Checks what a gateway stands on: files, ports, keys, the database with its settings, clock and schema. Then it sends\none run through a gateway: the one that runs, or one that it starts for this. What is wrong comes with a fix.",
    args: [],
    rows: { ...flagRows("start"), ...DOCTOR_OPTIONS },
    examples: [
      { doc: "This machine, before the first start", line: "holdfast-gateway doctor" },
      {
        doc: "The database that production is to have; nothing is written",
        line: "holdfast-gateway doctor --database-url postgres://… --no-round-trip",
      },
      {
        doc: "A gateway that runs, through its proxies",
        line: "holdfast-gateway doctor --url https://gateway.example.com",
      },
    ],
  },
  {
    name: "explain",
    group: WORK_WITH_IT,
    summary: "say what an error code means, and how to fix it",
    description:
      "Prints what a code means and how to fix it; without one, all codes. Errors carry theirs in logs, in answers of the\nHTTP API, in runs, and as `code` of what the SDK throws.",
    args: [{ name: "[code]", doc: "such as OPTION_MISSING" }],
    rows: JSON_OPTION,
    examples: [{ doc: "One that a log has", line: "holdfast-gateway explain MAIN_BLOCKED" }],
  },
  {
    name: "send",
    group: WORK_WITH_IT,
    summary: "send an event, and see which runs it starts",
    description: "Sends an event, and says which runs it started, or that it started none and which names come close.",
    args: [{ name: "<event>", doc: "its name, such as shop/order.placed" }],
    rows: SEND_OPTIONS,
    examples: [
      { doc: "With data", line: `holdfast-gateway send shop/order.placed --data '{"card":"4242"}'` },
      {
        doc: "Data from a file; wait for the runs and show them",
        line: "holdfast-gateway send shop/order.placed --data @order.json --wait",
      },
      {
        doc: "The ids of its runs, for a script",
        line: "holdfast-gateway send shop/order.placed --json | jq -r '.runIds[]'",
      },
    ],
  },
  {
    name: "signal",
    group: WORK_WITH_IT,
    summary: "send a signal to the step that waits for it",
    description:
      "Sends a signal to the one step that waits for it, and says whose step that was. Signals are not kept: where no step\nwaits for it now the exit code is 3.",
    args: [{ name: "<signal>", doc: "its name, as step.waitForSignal has it" }],
    rows: SIGNAL_OPTIONS,
    examples: [
      { doc: "An approval", line: `holdfast-gateway signal order-42-approved --data '{"by":"me"}'` },
      { doc: "Which signals runs wait for", line: "holdfast-gateway runs --waiting" },
    ],
  },
  {
    name: "runs",
    group: WORK_WITH_IT,
    summary: "list runs, the newest first",
    description: "Lists runs, the newest first.",
    args: [],
    rows: RUNS_OPTIONS,
    examples: [
      { doc: "What failed", line: "holdfast-gateway runs --status failed" },
      { doc: "What waits, and for what", line: "holdfast-gateway runs --waiting" },
      { doc: "Of one order", line: "holdfast-gateway runs --event shop/order.placed --key order-4711" },
      { doc: "Of a graph", line: "holdfast-gateway runs --graph onboarding" },
      { doc: "The last five of a function", line: "holdfast-gateway runs --function shop-order --limit 5" },
      { doc: "Of a night", line: "holdfast-gateway runs --after 2027-01-30T18:00:00Z --before 2027-01-31T09:00:00Z" },
      { doc: "Their ids, for a script", line: "holdfast-gateway runs --json | jq -r '.runs[].id'" },
    ],
  },
  {
    name: "run",
    group: WORK_WITH_IT,
    summary: "show a run: its steps, attempts and errors",
    description:
      "Shows a run: its steps with their attempts, errors and times, what is at work, what it waits for, its result. On a\nterminal long results and errors are cut; in a pipe, with --full and with --json they are whole.",
    args: [{ name: "<run>", doc: "the run's id" }],
    rows: RUN_OPTIONS,
    examples: [
      { doc: "Steps and errors", line: "holdfast-gateway run 01JZ6Q4WJ2M6W9S0V7K3N8T5YB" },
      {
        doc: "Wait for its end; exit code 0 if it completed",
        line: "holdfast-gateway run 01JZ6Q4WJ2M6W9S0V7K3N8T5YB --wait",
      },
      { doc: "Its result", line: "holdfast-gateway run 01JZ6Q4WJ2M6W9S0V7K3N8T5YB --json | jq .output" },
    ],
  },
  {
    name: "tail",
    group: WORK_WITH_IT,
    summary: "show what happens to runs, as it happens",
    description:
      "Shows what happens to runs, as it happens: to one run from its beginning until it ends, or to all runs from now on.\nIt goes on when the gateway comes back, or another one in its place. Ctrl-C ends it.",
    args: [{ name: "[run]", doc: "a run's id; without one: all runs" }],
    rows: TAIL_OPTIONS,
    examples: [
      { doc: "Everything", line: "holdfast-gateway tail" },
      { doc: "Only what fails", line: "holdfast-gateway tail --status failed" },
      {
        doc: "One run, until it ends; exit code 0 if it completed",
        line: "holdfast-gateway tail 01JZ6Q4WJ2M6W9S0V7K3N8T5YB",
      },
      { doc: "A line of JSON for each fact", line: "holdfast-gateway tail --function shop-order --json | jq .kind" },
    ],
  },
  ...REPAIR_COMMANDS,
  ...OPERATE_COMMANDS,
  ...FAULT_COMMANDS,
  TORTURE_COMMAND,
  ...GRAPH_COMMANDS,
  ...REPLAY_COMMANDS,
  ...RETENTION_COMMANDS,
  {
    name: "keys",
    group: KEYS,
    summary: "create, hash and list signing and event keys",
    description: "Creates, hashes and lists the keys that apps and clients show to a gateway.",
    args: [],
    rows: {},
    examples: [],
  },
  {
    name: "keys create",
    group: KEYS,
    summary: "print a new signing key and a new event key",
    description: "Prints a new signing key and a new event key, as lines that a shell or an env file takes.",
    args: [],
    rows: KEYS_CREATE_OPTIONS,
    examples: [{ doc: "For gateway and apps alike", line: "holdfast-gateway keys create > holdfast.env" }],
  },
  {
    name: "keys hash",
    group: KEYS,
    summary: "print what is sent instead of a signing key",
    description:
      "Prints the hash of a signing key, which apps send instead of it. Without a key it takes HOLDFAST_SIGNING_KEY.",
    args: [{ name: "[key]", doc: "the signing key; - reads it from stdin" }],
    rows: KEYS_HASH_OPTIONS,
    examples: [
      {
        doc: "Call the HTTP API",
        line: 'curl -H "Authorization: Bearer $(holdfast-gateway keys hash)" http://localhost:8288/v1/runs',
      },
    ],
  },
  {
    name: "keys list",
    group: KEYS,
    summary: "list the keys that a gateway would be started with",
    description:
      "Lists the keys that a gateway would be started with here: their names, kinds and environments, never the keys.",
    args: [],
    rows: KEYS_LIST_OPTIONS,
    examples: [{ doc: "Those of a file", line: "holdfast-gateway keys list --keys keys.json" }],
  },
];
