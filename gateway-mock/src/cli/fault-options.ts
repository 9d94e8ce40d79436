/** The commands that ask for faults: what they take, what their help says. */
import { MAX_DURATION_MS, parseDurationMs } from "@holdfast/core";
import { integer, invalidOption, type OptionKind, type OptionRow, oneOf, RATIO, TEXT } from "../config/option-kinds.ts";
import { FAULT_KINDS, FAULT_NAMES } from "../faults/rules/fault-kinds.ts";
import { DIRECTIONS, MOMENTS } from "../faults/rules/fault-rule.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandSpec, WORK_WITH_IT } from "./command-spec.ts";

/** As long as anything may take. */
const LONG: OptionKind<number> = {
  fromText: (text, source) => parseDurationMs(text, source),
  check: (value, source) => {
    if (typeof value === "number" && value >= 0 && value <= MAX_DURATION_MS) return Math.round(value);
    throw invalidOption(source, "must be a duration such as 200ms, 5s or 2h.");
  },
};

const MAX_SEED = 0xffff_ffff;

function flag<T>(name: string, takes: string, kind: OptionKind<T>, doc: string) {
  return { kind, flag: { name, takes }, variables: [], doc } as const;
}

export const FAULT_ADD_OPTIONS = {
  kind: flag(
    "kind",
    "<kinds>",
    TEXT,
    "only these kinds of frames, with commas between: WORKER_REPLY,WORKER_CHECKPOINT",
  ),
  direction: flag("direction", "<way>", oneOf(DIRECTIONS), `only frames ${DIRECTIONS.join(" or ")}`),
  connection: flag("connection", "<id>", TEXT, "only this connection, or this worker's instance id"),
  function: flag("function", "<id>", TEXT, "only runs of this function, such as shop-order"),
  step: flag("step", "<id>", TEXT, "only this step, by the id that its author gave"),
  run: flag("run", "<id>", TEXT, "only this run"),
  operation: flag("operation", "<names>", TEXT, "only these calls of the database, with commas between: commit,claim"),
  probability: flag("probability", "<share>", RATIO, "of what fits, how much it happens to, 0 to 1; default: 1"),
  count: flag("count", "<n>", integer(1, 1_000_000), "how often at most; default: no limit"),
  after: flag("after", "<n>", integer(0, 1_000_000), "how many that fit are left alone first"),
  fromMs: flag("from", "<duration>", LONG, "not before; counted from now"),
  forMs: flag("for", "<duration>", LONG, "for how long from then; default: until it is removed"),
  everyMs: flag("every", "<duration>", LONG, "of what happens at once: again and again, so far apart"),
  seed: flag(
    "seed",
    "<n>",
    integer(0, MAX_SEED),
    "what is left to chance follows from it; default: any, which is printed",
  ),
  delayMs: flag("delay", "<duration>", LONG, "how long something is held up"),
  jitterMs: flag("jitter", "<duration>", LONG, "up to so much longer"),
  copies: flag("copies", "<n>", integer(1, 100), "how many more of each, of `duplicate`"),
  code: flag("code", "<n>", integer(1000, 4999), "with which code a connection is closed; default: 1011"),
  reason: flag("reason", "<text>", TEXT, "what a close says"),
  moment: flag("moment", "<moment>", oneOf(MOMENTS), `of \`kill\`: ${MOMENTS.join(" or ")}`),
  status: flag("status", "<n>", integer(400, 599), "with which status a call is refused; default: 503"),
  skipMs: flag("skip", "<duration>", LONG, "how far time is moved on, of `skip-time`"),
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const FAULT_HISTORY_OPTIONS = {
  limit: { ...flag("limit", "<n>", integer(1, 1_000), "how much, the newest first"), default: 50 },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

const allKinds = FAULT_NAMES.map((name) => `  ${name.padEnd(16)}${FAULT_KINDS[name].does.replaceAll("`", "")}`).join(
  "\n",
);

export const FAULT_COMMANDS: readonly CommandSpec[] = [
  {
    name: "fault",
    group: WORK_WITH_IT,
    summary: "make things go wrong at a dev gateway, to see what your app does",
    description:
      "Lists the faults that were asked for: how many came by that each fits, how often it happened. Faults exist only on\ngateways that `dev` started, on a loopback address.",
    args: [],
    rows: CLIENT_OPTIONS,
    examples: [
      { doc: "What is there", line: "holdfast-gateway fault" },
      {
        doc: "Lose the next acknowledgement of a step",
        line: "holdfast-gateway fault add withhold-acks --step charge --count 1",
      },
      { doc: "What faults have done", line: "holdfast-gateway fault history" },
    ],
  },
  {
    name: "fault add",
    group: WORK_WITH_IT,
    summary: "make something go wrong, from now on or at once",
    description: `Makes something go wrong:\n\n${allKinds}`,
    args: [{ name: "<what>", doc: "one of those above" }],
    rows: FAULT_ADD_OPTIONS,
    examples: [
      {
        doc: "The step's result is lost with the process that had it",
        line: "holdfast-gateway fault add kill --step charge --moment before-commit --count 1",
      },
      {
        doc: "A slow network for a minute",
        line: "holdfast-gateway fault add delay --delay 200ms --jitter 300ms --for 1m",
      },
      {
        doc: "A tenth of the commits fail, the same ones each time",
        line: "holdfast-gateway fault add refuse-database --operation commit --probability 0.1 --seed 7",
      },
      {
        doc: "Every worker loses its connection every five seconds",
        line: "holdfast-gateway fault add kill-connection --every 5s --for 1m",
      },
    ],
  },
  {
    name: "fault clear",
    group: WORK_WITH_IT,
    summary: "remove faults, all or some",
    description: "Removes faults: those that are named, or all. What they have done stays in the history.",
    args: [{ name: "[fault...]", doc: "their ids, such as fault-3; without any: all" }],
    rows: CLIENT_OPTIONS,
    examples: [{ doc: "All", line: "holdfast-gateway fault clear" }],
  },
  {
    name: "fault history",
    group: WORK_WITH_IT,
    summary: "show what faults have done, the newest first",
    description: "Shows what faults have done, the newest first.",
    args: [],
    rows: FAULT_HISTORY_OPTIONS,
    examples: [{ doc: "For a script", line: "holdfast-gateway fault history --json | jq -r '.history[].text'" }],
  },
  {
    name: "fault run",
    group: WORK_WITH_IT,
    summary: "play a script of faults: a JSON file",
    description:
      'Plays a script: a JSON array of steps, each { "add": <fault> }, { "wait": "5s" } or { "clear": true }. It ends with its\nlast step; faults that it has added and not cleared stay.',
    args: [{ name: "<file>", doc: "the script; - reads stdin" }],
    rows: CLIENT_OPTIONS,
    examples: [
      { doc: "A bad minute", line: "holdfast-gateway fault run bad-minute.json" },
      {
        doc: "In one line",
        line: `echo '[{"add":{"what":"refuse-start"}},{"wait":"5s"},{"clear":true}]' | holdfast-gateway fault run -`,
      },
    ],
  },
];
