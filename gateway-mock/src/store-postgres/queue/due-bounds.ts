/**
 * From where on claims look for due jobs while the queue's index is full of entries of jobs that are gone (a long
 * transaction keeps them there, or no vacuum has come by yet): docs/decisions/0057.
 */

import { numberArray, rowsOf, textArray, timeOf } from "../connection/pg-values.ts";

/** A look that takes no longer is always taken from the beginning. */
const QUICK_MS = 20;
/** Looks from the beginning take at most this share of the time. */
const SHARE = 1 / 20;
/** What lies before the bounds is never overlooked for longer. */
const MAX_INTERVAL_MS = 5_000;
/** Commits that take no longer, and clocks that are set back no further, bring nothing that a bounded look misses. */
const SLACK_MS = 2_000;
/** Of a function with more priorities every look is from the beginning. */
const MAX_PRIORITIES = 100;

/** A job that was taken, as its row says. */
export interface TakenJob {
  readonly function_id: string;
  readonly priority: number;
  readonly due_ms: number;
}

/**
 * Where a look finds the priorities that jobs have: in the gaps between those with bounds (function, and the priorities
 * above and below, without them), and those with bounds (function, priority, and in milliseconds since the epoch from
 * where on). From the beginning it is one gap and no bound a function.
 */
export type LookParams = readonly [string, string, string, string, string, string];

const MAX_INT = 2_147_483_647;

/**
 * SQL for the priorities of jobs of `w.function_id`, as `p (priority, since)`; the parameters from number `first` on
 * are `LookParams`. Through a gap it hops by the index, one probe for each priority that there is.
 */
export const prioritiesSince = (first: number): string => {
  const [fn, above, below, ofFn, priority, since] = Array.from({ length: 6 }, (_, index) => `$${first + index}`);
  const next = (from: string): string => `(SELECT q.priority FROM holdfast.queue q
        WHERE q.function_id = w.function_id AND q.priority < ${from} AND q.priority > hop.below
        ORDER BY q.priority DESC LIMIT 1)`;
  return `LATERAL (
    WITH RECURSIVE hop AS (
      SELECT g.above AS priority, g.below, false AS found
      FROM ${rowsOf({ function_id: `${fn}::text[]`, above: `${above}::int[]`, below: `${below}::int[]` }, "g")}
      WHERE g.function_id = w.function_id
      UNION ALL
      SELECT ${next("hop.priority")}, hop.below, true FROM hop WHERE hop.priority IS NOT NULL
    ) SELECT priority, '-infinity'::timestamptz AS since FROM hop WHERE found AND priority IS NOT NULL
    UNION ALL
    SELECT b.priority, ${timeOf("b.since")} FROM ${rowsOf(
      { function_id: `${ofFn}::text[]`, priority: `${priority}::int[]`, since: `${since}::float8[]` },
      "b",
    )} WHERE b.function_id = w.function_id
  ) p`;
};

/** For a look from the beginning. */
export function wholeLook(functionIds: readonly string[]): LookParams {
  const all = textArray(functionIds);
  return [
    all,
    numberArray(functionIds.map(() => MAX_INT)),
    numberArray(functionIds.map(() => -MAX_INT)),
    "{}",
    "{}",
    "{}",
  ];
}

/**
 * Jobs are taken in the order in which they became due, so behind those that this gateway has taken there are mostly
 * none. Mostly: a transaction commits jobs that have been due since it began, another gateway gives jobs back that it
 * had locked. So bounds lie some time before what was taken, and a look from the beginning comes again and again:
 * always where it is quick, else so often that it costs a twentieth of the time, and at least every five seconds.
 */
export class DueBounds {
  readonly #monotonicMs: () => number;
  readonly #byFunction = new Map<string, Map<number, number>>();
  #nextFullMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Carries out a look at these functions, with the bounds that it has now. */
  async look<T>(functionIds: readonly string[], carryOut: (params: LookParams) => Promise<T>): Promise<T> {
    const startedMs = this.#monotonicMs();
    if (startedMs < this.#nextFullMs) return carryOut(this.#boundedLook(functionIds));
    const result = await carryOut(wholeLook(functionIds));
    const endedMs = this.#monotonicMs();
    const tookMs = endedMs - startedMs;
    this.#nextFullMs = tookMs <= QUICK_MS ? endedMs : endedMs + Math.min(MAX_INTERVAL_MS, tookMs / SHARE);
    return result;
  }

  /** These were taken, and with them all of their function and priority that were due before. */
  recordTaken(jobs: Iterable<TakenJob>): void {
    for (const { function_id: functionId, priority, due_ms: dueMs } of jobs) {
      const since = this.#byFunction.get(functionId) ?? new Map<number, number>();
      this.#byFunction.set(functionId, since);
      since.set(priority, Math.max(since.get(priority) ?? Number.NEGATIVE_INFINITY, dueMs - SLACK_MS));
    }
  }

  /** Jobs were put back before the bounds: the next look is from the beginning. */
  forget(): void {
    this.#nextFullMs = Number.NEGATIVE_INFINITY;
  }

  #boundedLook(functionIds: readonly string[]): LookParams {
    const gaps: { functionId: string; above: number; below: number }[] = [];
    const bounds: { functionId: string; priority: number; sinceMs: number }[] = [];
    for (const functionId of functionIds) {
      const since = [...(this.#byFunction.get(functionId) ?? [])].sort(([a], [b]) => b - a);
      let above = MAX_INT;
      for (const [priority, sinceMs] of since.length > MAX_PRIORITIES ? [] : since) {
        gaps.push({ functionId, above, below: priority });
        bounds.push({ functionId, priority, sinceMs });
        above = priority;
      }
      gaps.push({ functionId, above, below: -MAX_INT });
    }
    return [
      textArray(gaps.map(({ functionId }) => functionId)),
      numberArray(gaps.map(({ above }) => above)),
      numberArray(gaps.map(({ below }) => below)),
      textArray(bounds.map(({ functionId }) => functionId)),
      numberArray(bounds.map(({ priority }) => priority)),
      numberArray(bounds.map(({ sinceMs }) => sinceMs)),
    ];
  }
}
