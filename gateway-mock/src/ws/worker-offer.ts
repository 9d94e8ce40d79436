/**
 * Reads what a worker's capabilities say of the work that it takes: the queues that it serves and the partitions of its
 * capacity (docs/wire-extensions.md). What was not agreed on is not read: such a worker takes all, in one part.
 */
import { describeValue } from "@holdfast/core";
import { DEFAULT_QUEUE, EVERY_QUEUE, type Extension, isRecord, servedQueuesProblem } from "@holdfast/protocol";
import { type PartitionRecord, qualify } from "@holdfast/store";

export const MAX_PARTITIONS = 16;
const MAX_CAPACITY = 100_000;
const MAX_UPTIME_MS = 10 * 366 * 86_400_000;

/** The part of a worker's offer that is about placing. */
export interface WorkerOffer {
  /** Null: every one. */
  readonly queues: ReadonlySet<string> | null;
  readonly partitions: readonly PartitionRecord[];
  /** How long its process runs; null: it does not say. */
  readonly uptimeMs: number | null;
}

export interface OfferContext {
  readonly extensions: readonly Extension[];
  readonly environment: string;
  /** The functions that the worker has registered, as its environment has them. */
  readonly functionIds: readonly string[];
}

/**
 * `offer`: `holdfast` of the capabilities.
 * @throws Error that says what is wrong, for SYNC_FAILED
 */
export function readWorkerOffer(offer: unknown, { extensions, environment, functionIds }: OfferContext): WorkerOffer {
  const fields = isRecord(offer) ? offer : {};
  return {
    queues: extensions.includes("queues") ? readQueues(fields.queues ?? [DEFAULT_QUEUE]) : null,
    partitions: extensions.includes("partitions")
      ? readPartitions(fields.partitions ?? [], environment, new Set(functionIds))
      : [],
    uptimeMs: readUptime(fields.uptimeMs),
  };
}

/** Bounded, since the database counts with it. */
function readUptime(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? Math.min(value, MAX_UPTIME_MS) : null;
}

function readQueues(value: unknown): ReadonlySet<string> | null {
  const problem = servedQueuesProblem(value);
  if (problem || !Array.isArray(value)) throw new Error(`The worker's \`queues\` ${problem}.`);
  return value.includes(EVERY_QUEUE) ? null : new Set(value.map(String));
}

function readPartitions(value: unknown, environment: string, functionIds: ReadonlySet<string>): PartitionRecord[] {
  if (!Array.isArray(value) || value.length > MAX_PARTITIONS) {
    throw new Error(`The worker's \`partitions\` must be an array of at most ${MAX_PARTITIONS}.`);
  }
  const taken = new Set<string>();
  return value.map((entry: unknown, index) => {
    const name = `\`partitions[${index}]\` of the worker`;
    const { functions, capacity } = isRecord(entry) ? entry : {};
    if (!Array.isArray(functions) || functions.length === 0) throw new Error(`${name} names no functions.`);
    if (!isCapacity(capacity)) {
      throw new Error(
        `The capacity of ${name} must be an integer from 1 to ${MAX_CAPACITY}, not ${describeValue(capacity)}.`,
      );
    }
    const own = functions.map((slug: unknown) => (typeof slug === "string" ? qualify(environment, slug) : ""));
    for (const [at, functionId] of own.entries()) {
      if (!functionIds.has(functionId)) {
        throw new Error(`${name} names ${describeValue(functions[at])}, a function that it did not register.`);
      }
      if (taken.has(functionId))
        throw new Error(`${name} names ${describeValue(functions[at])}, which is named twice.`);
      taken.add(functionId);
    }
    return { functionIds: own, capacity };
  });
}

const isCapacity = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MAX_CAPACITY;
