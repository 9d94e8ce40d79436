/** The options of commands that talk to a running gateway. */
import { readEnvironmentName } from "@holdfast/core";
import { RUN_STATUSES } from "@holdfast/store";
import type { GatewayKey } from "../config/keys-config.ts";
import { readKeysFile } from "../config/keys-file.ts";
import {
  duration,
  integer,
  listOf,
  type OptionKind,
  type OptionRow,
  SWITCH,
  TEXT,
  unchecked,
} from "../config/option-kinds.ts";
import { DEV_URL, GATEWAY_URL, URL_VARIABLES } from "./gateway-url.ts";

/** A header carries it: what no header can would look like a gateway that does not answer. */
const ENVIRONMENT_NAME: OptionKind<string> = { fromText: (text) => text, check: readEnvironmentName };

export const JSON_OPTION = {
  json: {
    kind: SWITCH,
    flag: { name: "json", sets: true },
    variables: ["HOLDFAST_GATEWAY_JSON"],
    default: false,
    doc: "print one JSON value instead of text; errors, too",
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

export const CLIENT_OPTIONS = {
  url: {
    kind: GATEWAY_URL,
    flag: { name: "url", takes: "<url>" },
    variables: URL_VARIABLES,
    default: DEV_URL,
    doc: "where the gateway is; HOLDFAST_DEV may be 1 instead of an address",
  },
  signingKey: {
    kind: TEXT,
    flag: { name: "signing-key", takes: "<key>" },
    variables: ["HOLDFAST_SIGNING_KEY"],
    doc: "the gateway's signing key, or its hash; others on this machine can read flags, so prefer the variable",
  },
  eventKey: {
    kind: TEXT,
    flag: { name: "event-key", takes: "<key>" },
    variables: ["HOLDFAST_EVENT_KEY"],
    doc: "the gateway's event key",
  },
  keys: {
    kind: unchecked<readonly GatewayKey[]>(readKeysFile),
    flag: { name: "keys", takes: "<file>" },
    variables: ["HOLDFAST_KEYS_FILE"],
    doc: "the gateway's key file: its first keys for the environment are used",
  },
  env: {
    kind: ENVIRONMENT_NAME,
    flag: { name: "env", takes: "<name>" },
    variables: ["HOLDFAST_ENV"],
    doc: "environment to work in; default: the key's own, else the default one",
  },
  ...JSON_OPTION,
} as const satisfies Readonly<Record<string, OptionRow>>;

const LINKS_OPTION = {
  links: {
    kind: SWITCH,
    flag: { name: "no-links", sets: false },
    variables: [],
    default: true,
    doc: "only this run, not those as which it goes on (continueAs)",
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

const WAIT_OPTIONS = {
  wait: {
    kind: SWITCH,
    flag: { name: "wait", sets: true },
    variables: [],
    default: false,
    doc: "wait until every run has ended; exit code 6 if one did not complete, 0 if there is none to wait for",
  },
  timeoutMs: {
    kind: duration(0),
    flag: { name: "timeout", takes: "<duration>" },
    variables: [],
    default: 300_000,
    doc: "how long --wait waits",
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

export const SEND_OPTIONS = {
  data: {
    kind: TEXT,
    flag: { name: "data", takes: "<json>", isOnce: true },
    variables: [],
    default: "{}",
    doc: "the event's data; @file reads a file, - reads stdin",
  },
  id: {
    kind: TEXT,
    flag: { name: "id", takes: "<id>", isOnce: true },
    variables: [],
    doc: "the event's id: sent again with the same one it starts nothing twice",
  },
  at: {
    kind: TEXT,
    flag: { name: "at", takes: "<time>", isOnce: true },
    variables: [],
    doc: "when the event happens, such as 2027-01-31T09:00:00Z: runs start then; default: now",
  },
  ...WAIT_OPTIONS,
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const SIGNAL_OPTIONS = {
  data: {
    kind: TEXT,
    flag: { name: "data", takes: "<json>" },
    variables: [],
    default: "null",
    doc: "what the step gets; @file reads a file, - reads stdin",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const RUNS_OPTIONS = {
  waiting: {
    kind: SWITCH,
    flag: { name: "waiting", sets: true },
    variables: [],
    default: false,
    doc: "only runs that wait for something, with what that is",
  },
  why: {
    kind: SWITCH,
    flag: { name: "why", sets: true },
    variables: [],
    default: false,
    doc: "also why each run that has not ended waits",
  },
  status: {
    kind: listOf(RUN_STATUSES.map((status) => status.toLowerCase())),
    flag: { name: "status", takes: "<status>" },
    variables: [],
    doc: `only runs with this status, several with commas: ${RUN_STATUSES.join(", ").toLowerCase()}`,
  },
  function: {
    kind: TEXT,
    flag: { name: "function", takes: "<id>" },
    variables: [],
    doc: "only runs of this function, such as shop-order",
  },
  event: {
    kind: TEXT,
    flag: { name: "event", takes: "<name>" },
    variables: [],
    doc: "only runs that an event of this name started",
  },
  eventName: {
    kind: TEXT,
    flag: { name: "event-name", takes: "<name>" },
    variables: [],
    doc: "the same as --event",
  },
  eventId: {
    kind: TEXT,
    flag: { name: "event-id", takes: "<id>" },
    variables: [],
    doc: "only runs that the event with this id started",
  },
  key: {
    kind: TEXT,
    flag: { name: "key", takes: "<key>" },
    variables: [],
    doc: "only runs by the id that a sender gave to their event",
  },
  graph: {
    kind: TEXT,
    flag: { name: "graph", takes: "<id>" },
    variables: [],
    doc: "only runs of this graph",
  },
  tenant: {
    kind: TEXT,
    flag: { name: "tenant", takes: "<name>" },
    variables: [],
    doc: "with --graph: whose graph it is; default: that of the one owner",
  },
  error: {
    kind: TEXT,
    flag: { name: "error", takes: "<text>" },
    variables: [],
    doc: "only runs with this text in what they failed with",
  },
  after: {
    kind: TEXT,
    flag: { name: "after", takes: "<time>" },
    variables: [],
    doc: "only runs created then or later, such as 2027-01-31T09:00:00Z",
  },
  before: {
    kind: TEXT,
    flag: { name: "before", takes: "<time>" },
    variables: [],
    doc: "only runs created before then",
  },
  limit: {
    kind: integer(1, 1000),
    flag: { name: "limit", takes: "<n>" },
    variables: [],
    default: 20,
    doc: "how many, the newest first",
  },
  cursor: {
    kind: TEXT,
    flag: { name: "cursor", takes: "<cursor>" },
    variables: [],
    doc: "go on where the last page ended",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const TAIL_OPTIONS = {
  function: {
    kind: TEXT,
    flag: { name: "function", takes: "<id>" },
    variables: [],
    doc: "only runs of this function, such as shop-order",
  },
  status: {
    kind: TEXT,
    flag: { name: "status", takes: "<status>" },
    variables: [],
    doc: "only what makes a run one of these, with commas between: failed,cancelled",
  },
  all: {
    kind: SWITCH,
    flag: { name: "all", sets: true },
    variables: [],
    default: false,
    doc: "facts of the gateway's own bookkeeping, too; --json always has them",
  },
  ...LINKS_OPTION,
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const ROLLOUT_OPTIONS = {
  percent: {
    kind: integer(0, 100),
    flag: { name: "percent", takes: "<n>" },
    variables: [],
    default: 100,
    doc: "how many in a hundred new runs begin with it",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const PAUSE_OPTIONS = {
  note: {
    kind: TEXT,
    flag: { name: "note", takes: "<text>" },
    variables: [],
    doc: "why; runs that wait say so",
  },
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;

export const RUN_OPTIONS = {
  log: {
    kind: SWITCH,
    flag: { name: "log", sets: true },
    variables: [],
    default: false,
    doc: "the rows of its log, too",
  },
  full: {
    kind: SWITCH,
    flag: { name: "full", sets: true },
    variables: [],
    default: false,
    doc: "long results and errors whole on a terminal, too; a pipe always has them",
  },
  ...LINKS_OPTION,
  ...WAIT_OPTIONS,
  ...CLIENT_OPTIONS,
} as const satisfies Readonly<Record<string, OptionRow>>;
