/** The options of commands that repair runs, one by one or all that fit a filter. */
import { type OptionRow, SWITCH, TEXT } from "../config/option-kinds.ts";
import { CLIENT_OPTIONS } from "./client-options.ts";

const onlyRuns = (name: string, takes: string, doc: string) =>
  ({ kind: TEXT, flag: { name, takes }, variables: [], doc }) as const satisfies OptionRow;
const isSet = (name: string, doc: string) =>
  ({ kind: SWITCH, flag: { name, sets: true }, variables: [], default: false, doc }) as const satisfies OptionRow;

export const FILTER_OPTIONS = {
  function: onlyRuns("function", "<id>", "runs of this function, such as shop-order"),
  status: onlyRuns("status", "<status>", "runs with this status; several with commas"),
  event: onlyRuns("event", "<name>", "runs that an event of this name started"),
  eventId: onlyRuns("event-id", "<id>", "runs that the event with this id started"),
  key: onlyRuns("key", "<key>", "runs by the id that a sender gave to their event"),
  graph: onlyRuns("graph", "<id>", "runs of this graph"),
  tenant: onlyRuns("tenant", "<name>", "with --graph: whose graph it is; default: that of the one owner"),
  error: onlyRuns("error", "<text>", "runs with this text in what they failed with"),
  after: onlyRuns("after", "<time>", "runs created then or later, such as 2027-01-31T09:00:00Z"),
  before: onlyRuns("before", "<time>", "runs created before then"),
  all: isSet("all", "every run of the environment"),
  dryRun: isSet("dry-run", "only say how many runs fit"),
  yes: isSet("yes", "do it without asking"),
} as const satisfies Readonly<Record<string, OptionRow>>;

export const CANCEL_OPTIONS = { ...FILTER_OPTIONS, ...CLIENT_OPTIONS } as const;
export const DELETE_OPTIONS = {
  ...FILTER_OPTIONS,
  cancel: isSet("cancel", "cancel a run first that has not ended; for ids, not for filters"),
  ...CLIENT_OPTIONS,
} as const;
const appVersion = onlyRuns("app-version", "<version>", "newest (default), same, or a version of the app");
const again = isSet("again", "with a filter: also runs that were run again already");
export const RESUME_OPTIONS = { appVersion, again, ...FILTER_OPTIONS, ...CLIENT_OPTIONS } as const;
export const RERUN_OPTIONS = {
  from: onlyRuns("from", "<step>", "keep what had ended before this step, and go on from there"),
  result: onlyRuns("result", "<json>", "what that step gives, instead of doing it again; @file reads a file, - stdin"),
  appVersion,
  again,
  ...FILTER_OPTIONS,
  ...CLIENT_OPTIONS,
} as const;
export const BULK_OPTIONS = {
  stop: isSet("stop", "stop it; what it has done stays"),
  ...CLIENT_OPTIONS,
} as const;
