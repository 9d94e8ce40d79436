/**
 * From where on claims look for due jobs while the queue's index is full of entries of jobs that are gone (a long
 * transaction keeps them there, or no vacuum has come by yet): docs/decisions/0057.
 */

import { numberArray, textArray, timeOf } from "../connection/pg-values.ts";

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
 * Where a look finds the priorities that jobs have, each an array with one text for each function, which is an array by
 * itself: the gaps between priorities with bounds (those above and below, without them), and those with bounds (the
 * priority, and in milliseconds since the epoch from where on). From the beginning it is one gap and no bound.
 */
export type LookParams = readonly [string, string, string, string];

const MAX_INT = 2_147_483_647;

/**
 * Columns of `w`, a row for each function; the parameters from number `first` on are `LookParams`. What belongs to a
 * function is in its row: found among the rows of all functions, it would cost the square of their number.
 */
export const lookColumns = (first: number): Readonly<Record<string, string>> => ({
  gaps_above: `$${first}::text[]`,
  gaps_below: `$${first + 1}::text[]`,
  bounded: `$${first + 2}::text[]`,
  bounds_since: `$${first + 3}::text[]`,
});

const NEXT_PRIORITY = `(SELECT q.priority FROM holdfast.queue q
        WHERE q.function_id = w.function_id AND q.priority < hop.priority AND q.priority > hop.below
        ORDER BY q.priority DESC LIMIT 1)`;

/**
 * SQL for the priorities of jobs of `w.function_id`, as `p (priority, since)`; `w` has `lookColumns`. Through a gap it
 * hops by the index, one probe for each priority that there is.
 */
export const PRIORITIES_SINCE = `LATERAL (
    WITH RECURSIVE hop AS (
      SELECT g.priority, g.below, false AS found
      FROM (SELECT unnest(w.gaps_above::int[]) AS priority, unnest(w.gaps_below::int[]) AS below) g
      UNION ALL
      SELECT ${NEXT_PRIORITY}, hop.below, true FROM hop WHERE hop.priority IS NOT NULL
    ) SELECT priority, '-infinity'::timestamptz AS since FROM hop WHERE found AND priority IS NOT NULL
    UNION ALL
    SELECT b.priority, ${timeOf("b.since")}
    FROM (SELECT unnest(w.bounded::int[]) AS priority, unnest(w.bounds_since::float8[]) AS since) b
  ) p`;

const WHOLE_GAP = [numberArray([MAX_INT]), numberArray([-MAX_INT])] as const;

/** For a look from the beginning. */
export function wholeLook(functionIds: readonly string[]): LookParams {
  const [above, below] = WHOLE_GAP;
  const none = textArray(functionIds.map(() => "{}"));
  return [textArray(functionIds.map(() => above)), textArray(functionIds.map(() => below)), none, none];
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
    const looks = functionIds.map((functionId) => {
      const since = [...(this.#byFunction.get(functionId) ?? [])].sort(([a], [b]) => b - a);
      const bounds = since.length > MAX_PRIORITIES ? [] : since;
      const priorities = bounds.map(([priority]) => priority);
      return {
        above: numberArray([MAX_INT, ...priorities]),
        below: numberArray([...priorities, -MAX_INT]),
        bounded: numberArray(priorities),
        since: numberArray(bounds.map(([, sinceMs]) => sinceMs)),
      };
    });
    return [
      textArray(looks.map(({ above }) => above)),
      textArray(looks.map(({ below }) => below)),
      textArray(looks.map(({ bounded }) => bounded)),
      textArray(looks.map(({ since }) => since)),
    ];
  }
}
