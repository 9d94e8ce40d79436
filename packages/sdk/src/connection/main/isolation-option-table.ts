/** The options of `connect({ isolation })`, a row each; see `connect-option-table.ts`. */
import { describeValue } from "@holdfast/core";
import type { IsolationOptions } from "../../isolation/main/isolation.ts";
import {
  asDurationMs,
  asGroup,
  asInteger,
  invalidOption,
  type OptionParser,
  type OptionTable,
  type ResolvedTable,
} from "../../options.ts";
import { nodeModule } from "../../runtime.ts";
import type { ConnectOptions } from "../shared/connect-options.ts";

const MAX_THREADS = 1024;
const MAX_TURNS = 1_000_000;
const DAY_MS = 24 * 3_600_000;

/** A value, or `false` or "off" for never. */
export function orNever(parse: OptionParser<number>): OptionParser<number | null> {
  return (value, source) => {
    const text = typeof value === "string" ? value.trim().toLowerCase() : value;
    return text === false || text === "off" || text === "false" ? null : parse(value, source);
  };
}

export const asMegabytes: OptionParser<number> = (value, source) => {
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  throw invalidOption(source, `must be a number of megabytes above 0, not ${describeValue(value)}.`);
};

const RESOURCE_LIMITS = {
  maxOldGenerationSizeMb: { parse: asMegabytes, doc: "see `resourceLimits` of `node:worker_threads`" },
  maxYoungGenerationSizeMb: { parse: asMegabytes, doc: "the same" },
  codeRangeSizeMb: { parse: asMegabytes, doc: "the same" },
  stackSizeMb: { parse: asMegabytes, doc: "the same" },
} as const satisfies OptionTable<NonNullable<NonNullable<ConnectOptions["isolation"]>["resourceLimits"]>>;

export const ISOLATION = {
  threads: {
    parse: asInteger(1, MAX_THREADS),
    doc: "maximum number of threads; default: one less than the number of cores, at least 2",
  },
  warm: { parse: asInteger(0, MAX_THREADS), default: 0, doc: "how many are started at once and kept" },
  maxQueue: {
    parse: asInteger(1, MAX_TURNS),
    default: 10_000,
    doc: "how many steps may wait for a thread; further attempts fail and are retried",
  },
  recycleAfter: {
    parse: orNever(asInteger(1, MAX_TURNS)),
    default: false,
    doc: "after how many turns a thread is replaced; `false` = never",
  },
  idleTimeout: {
    parse: orNever(asDurationMs({ minMs: 1, maxMs: DAY_MS })),
    default: "1m",
    doc: "how long a thread may be idle before it is ended; `false` = forever",
  },
  resourceLimits: {
    parse: asGroup("isolation.resourceLimits", RESOURCE_LIMITS),
    default: {},
    doc: "memory limits of each thread; default: Node's",
  },
} as const satisfies OptionTable<NonNullable<ConnectOptions["isolation"]>>;

/** @throws HoldfastError `OPTION_INVALID` */
export function isolationOf(read: ResolvedTable<typeof ISOLATION>): IsolationOptions {
  const { threads = defaultThreads(), warm, maxQueue, recycleAfter, idleTimeout, resourceLimits } = read;
  if (warm > threads)
    throw invalidOption("the option `isolation.warm`", `must not be more than \`threads\`, ${threads}.`);
  return { threads, warm, maxQueue, recycleAfter, idleMs: idleTimeout, resourceLimits: defined(resourceLimits) };
}

type Defined<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Without what is undefined. */
export function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** How many threads there are where the option does not say. */
function defaultThreads(): number {
  return Math.max(2, nodeModule("node:os").availableParallelism() - 1);
}
