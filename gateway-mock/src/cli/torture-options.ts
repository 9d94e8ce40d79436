/** The command that tortures a function: what it takes, what its help says. */
import { duration, integer, type OptionRow, TEXT } from "../config/option-kinds.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";

const MAX_SEED = 0xffff_ffff;

export const TORTURE_OPTIONS = {
  function: {
    kind: TEXT,
    flag: { name: "function", takes: "<id>" },
    variables: [],
    doc: "the function, such as shop-order; an app that has it must be connected",
  },
  data: {
    kind: TEXT,
    flag: { name: "data", takes: "<json>" },
    variables: [],
    default: "{}",
    doc: "the data of the event that each run is given; @file reads a file, - reads stdin",
  },
  effects: {
    kind: TEXT,
    flag: { name: "effects", takes: "<command>" },
    variables: [],
    doc: "a command that prints what a run has done, such as a query of your database; it finds HOLDFAST_RUN_ID and HOLDFAST_EVENT_ID in its environment",
  },
  seed: {
    kind: integer(0, MAX_SEED),
    flag: { name: "seed", takes: "<n>" },
    variables: [],
    doc: "what is left to chance follows from it; default: any, which is printed",
  },
  round: {
    kind: integer(1, 1_000_000),
    flag: { name: "round", takes: "<n>" },
    variables: [],
    doc: "only this round, to see it again; with the seed that was printed",
  },
  rounds: {
    kind: integer(0, 10_000),
    flag: { name: "rounds", takes: "<n>" },
    variables: [],
    default: 10,
    doc: "how many rounds in which everything goes wrong at random, after those of each step",
  },
  timeoutMs: {
    kind: duration(100),
    flag: { name: "timeout", takes: "<duration>" },
    variables: [],
    default: 30_000,
    doc: "how long a run may take",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const TORTURE_COMMAND: CommandSpec = {
  name: "torture",
  group: WORK_WITH_IT,
  summary: "find out whether a function survives being killed at every step",
  description:
    "Runs a function again and again at a `dev` gateway: calmly first, then it ends the function before and after the commit\nof each step, delays, duplicates and reorders what its worker says, resets its connection, ends its leases and loses\nanswers of the database. Says which bodies ran again, and what differs from the calm runs: steps, results, effects,\nends. Each finding has the seed and the round that show it again. Exit code 6 when something was found.",
  args: [],
  rows: TORTURE_OPTIONS,
  examples: [
    { doc: "All of it", line: `holdfast-gateway torture --function shop-order --data '{"card":"4242"}'` },
    {
      doc: "With its effects: they must be the same whatever goes wrong",
      line: "holdfast-gateway torture --function shop-order --effects ./charges-of-run.sh",
    },
    { doc: "One finding once more", line: "holdfast-gateway torture --function shop-order --seed 7 --round 12" },
  ],
};
