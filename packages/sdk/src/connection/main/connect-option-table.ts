/**
 * Every option of `connect()`, a row each: what is read, checked and documented comes from here.
 * `../shared/connect-options.ts` has the types.
 */
import { describeValue, HoldfastError } from "@holdfast/core";
import { DEFAULT_QUEUES, servedQueuesProblem } from "../../functions/app-queues.ts";
import {
  asBoolean,
  asDurationMs,
  asGiven,
  asGroup,
  asInteger,
  asLogger,
  asName,
  asUrl,
  invalidOption,
  type OptionParser,
  type OptionTable,
} from "../../options.ts";
import { nodeModule } from "../../runtime.ts";
import type { ConnectOptions } from "../shared/connect-options.ts";
import type { StateChange } from "../shared/debug-state.ts";
import type { StallMessage } from "../shared/stall.ts";
import { HANG_TIMEOUT_MS } from "./hang-watch.ts";
import { asMegabytes, ISOLATION, orNever } from "./isolation-option-table.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Gateways take no longer ones. */
const MAX_INSTANCE_ID_LENGTH = 256;
const MAX_CONCURRENCY = 100_000;
/** Shorter, and a busy machine looks like a hang. */
const MIN_HANG_MS = 1_000;
const MIN_STALL_MS = 100;

const asSwitch: OptionParser<boolean> = (value, source) => {
  const text = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (text === "on") return true;
  return text === "off" ? false : asBoolean(value, source);
};

const asWait = (minMs: number): OptionParser<number> => asDurationMs({ minMs, maxMs: DAY_MS });

const asSignals: OptionParser<readonly NodeJS.Signals[]> = (given, source) => {
  const isSignal = (value: unknown): boolean => typeof value === "string" && /^SIG[A-Z0-9]+$/.test(value);
  if (!Array.isArray(given) || !given.every(isSignal)) {
    throw invalidOption(source, 'must be an array of signal names such as "SIGTERM".');
  }
  if (given.includes("SIGKILL") || given.includes("SIGSTOP")) {
    throw invalidOption(source, "contains a signal that no process can handle.");
  }
  const { signals } = nodeModule("node:os").constants;
  const unknown = given.find((name) => !Object.hasOwn(signals, name));
  if (unknown !== undefined) {
    throw invalidOption(source, `contains the signal ${unknown}, which this system does not have.`);
  }
  return given as readonly NodeJS.Signals[];
};

/** Names of queues; a variable has commas between them. */
const asQueues: OptionParser<readonly string[]> = (given, source) => {
  const queues: unknown = typeof given === "string" ? given.split(",").map((name) => name.trim()) : given;
  const problem = servedQueuesProblem(queues);
  if (problem !== null || !Array.isArray(queues)) throw invalidOption(source, `${problem}: ${describeValue(given)}.`);
  return [...new Set(queues.map(String))];
};

const asAbortSignal: OptionParser<AbortSignal> = (given, source) => {
  if (given instanceof AbortSignal) return given;
  throw invalidOption(source, "must be an AbortSignal.");
};

function asCallback<Message>(): OptionParser<(message: Message) => unknown> {
  return (given, source) => {
    if (typeof given === "function") return given as (message: Message) => unknown;
    throw invalidOption(source, `must be a function, not ${describeValue(given)}.`);
  };
}

const asScript: OptionParser<string | URL> = (given) => {
  if (given instanceof URL) return given;
  if (typeof given === "string" && given !== "") return given.startsWith("file:") ? new URL(given) : given;
  throw new HoldfastError("OPTION_INVALID", "The option `workerUrl` must be a file URL or an absolute path.");
};

type Group<Name extends keyof ConnectOptions> = NonNullable<ConnectOptions[Name]>;

const OUTBOX = {
  maxCount: { parse: asInteger(1, 10_000_000), default: 10_000, doc: "how many replies and checkpoints may wait" },
  maxBytes: { parse: asInteger(1), default: 256 * 1024 * 1024, doc: "how many bytes they may take in total" },
  ackTimeout: { parse: asWait(50), default: "5s", doc: "how long to wait for an acknowledgement before resending" },
} as const satisfies OptionTable<Group<"outbox">>;

const RESPAWN = {
  baseDelay: { parse: asWait(1), default: "100ms", doc: "delay before the first new thread; doubles with every crash" },
  maxDelay: { parse: asWait(1), default: "30s", doc: "the longest such delay" },
  maxCrashes: {
    parse: asInteger(1, 1_000_000),
    default: 10,
    doc: "consecutive crashes after which the connection fails",
  },
  minUptime: { parse: asWait(1), default: "10s", doc: "how long a connection must last to reset the count of crashes" },
  hangTimeout: {
    parse: asWait(MIN_HANG_MS),
    default: HANG_TIMEOUT_MS,
    doc: "a thread that is silent for this long counts as crashed",
  },
} as const satisfies OptionTable<Group<"respawn">>;

const RESOURCE_LIMITS = {
  maxOldGenerationSizeMb: { parse: asMegabytes, doc: "see `resourceLimits` of `node:worker_threads`" },
  // Node gives each thread up to 48 for what it just made, and this one keeps little of that.
  maxYoungGenerationSizeMb: { parse: asMegabytes, default: 6, doc: "the same" },
  codeRangeSizeMb: { parse: asMegabytes, doc: "the same" },
  stackSizeMb: { parse: asMegabytes, doc: "the same" },
} as const satisfies OptionTable<Group<"resourceLimits">>;

/** Every option of `connect()`, in the order of the README. */
export const CONNECT_OPTIONS = {
  apps: { parse: asGiven, doc: "the apps of this process, each `{ client, functions }`; 1 to 100" },
  gatewayUrl: {
    variables: ["_CONNECT_GATEWAY_URL"],
    parse: asUrl(["ws", "wss"]),
    doc: "WebSocket address to use instead of the one from the gateway",
  },
  instanceId: {
    variables: ["_CONNECT_INSTANCE_ID"],
    parse: asName(MAX_INSTANCE_ID_LENGTH),
    doc: "names this process to the gateway; default: host name, process id and a random suffix",
  },
  maxWorkerConcurrency: {
    variables: ["_CONNECT_MAX_WORKER_CONCURRENCY"],
    parse: asInteger(1, MAX_CONCURRENCY),
    default: 1000,
    doc: "how many requests may run at once; further ones are rejected",
  },
  queues: {
    variables: ["_CONNECT_QUEUES"],
    parse: asQueues,
    default: DEFAULT_QUEUES,
    doc: 'the queues whose functions this process runs; `["*"]` = all',
  },
  handleShutdownSignals: {
    parse: asSignals,
    default: ["SIGINT", "SIGTERM"],
    doc: "signals that close the connection: the first drains, the second forces; `[]` = none",
  },
  signal: { parse: asAbortSignal, doc: "an `AbortSignal` that cancels `connect()`, or later closes the connection" },
  connectTimeout: {
    variables: ["_CONNECT_TIMEOUT"],
    parse: asWait(1),
    default: "30s",
    doc: "how long `connect()` waits for a ready connection",
  },
  drainTimeout: {
    variables: ["_DRAIN_TIMEOUT"],
    parse: asWait(0),
    doc: "how long `close()` waits for work in flight before returning it to the gateway; default 25 s, and 1 s after a signal in development",
  },
  stallThreshold: {
    variables: ["_STALL_THRESHOLD"],
    parse: orNever(asDurationMs({ minMs: MIN_STALL_MS, maxMs: HOUR_MS })),
    default: "1s",
    doc: "how long the main thread may be blocked before that is reported; `false` or `off` = never reported",
  },
  maxStall: {
    variables: ["_MAX_STALL"],
    parse: orNever(asDurationMs({ minMs: MIN_STALL_MS, maxMs: DAY_MS })),
    default: false,
    doc: "how long it may be blocked before its work goes to other workers; `false` or `off` = it keeps its work",
  },
  yieldAfter: {
    variables: ["_YIELD_AFTER"],
    parse: orNever(asDurationMs({ minMs: 1, maxMs: HOUR_MS })),
    default: "10ms",
    doc: "how much of a turn of the event loop may be used before further handlers and steps start in the next turn; `false` or `off` = no limit",
  },
  workerUrl: { parse: asScript, doc: "the connection thread's script, instead of the built-in copy" },
  resourceLimits: {
    parse: asGroup("resourceLimits", RESOURCE_LIMITS),
    default: {},
    doc: "memory limits of the connection thread; default: Node's, except for the young generation",
  },
  isolation: {
    parse: asGroup("isolation", ISOLATION),
    default: {},
    doc: "the threads in which isolated code runs",
  },
  extensions: { variables: ["_EXTENSIONS"], parse: asSwitch, default: true, doc: "`false` = the plain protocol only" },
  logger: { parse: asLogger, doc: "console-shaped or pino-shaped; default: that of the first app's client" },
  onStateChange: {
    parse: asCallback<StateChange>(),
    doc: "called when the state of the connection changes, with `{ from, to, … }`",
  },
  onStall: {
    parse: asCallback<StallMessage>(),
    doc: "called with the report when the main thread was blocked and is responsive again",
  },
  outbox: { parse: asGroup("outbox", OUTBOX), default: {}, doc: "limits for what waits for an acknowledgement" },
  respawn: { parse: asGroup("respawn", RESPAWN), default: {}, doc: "how a thread that crashed or hangs is replaced" },
} as const satisfies OptionTable<ConnectOptions & { readonly apps: unknown }>;

/** Options that are groups, with their own tables. */
export const CONNECT_GROUPS = {
  outbox: OUTBOX,
  respawn: RESPAWN,
  resourceLimits: RESOURCE_LIMITS,
  isolation: ISOLATION,
} as const;
