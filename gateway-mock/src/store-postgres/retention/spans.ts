/**
 * Which partitions are looked through next, and together with which others they are copied. Pure; what is known of them
 * comes from the table `table_partitions`.
 */

export interface Span {
  readonly parent: string;
  readonly name: string;
  readonly fromId: string;
  readonly toId: string;
  readonly toMs: number;
  /** Null = never. */
  readonly lookedMs: number | null;
  readonly lookedFor: string | null;
  /** How many rows stayed when it was copied; null = it never was. */
  readonly kept: number | null;
}

export interface LookOptions {
  readonly parent: "runs" | "events";
  /** No row of the table is to be kept for less. */
  readonly shortestMs: number;
  readonly nowMs: number;
  /** The server's own time, whatever time tests have skipped: partitions that may still fill are left alone. */
  readonly serverMs: number;
  /** A partition is looked through again after this. */
  readonly lookEveryMs: number;
  readonly periods: string;
}

/** The partitions that are to be looked through, the oldest first. */
export function dueSpans(spans: readonly Span[], options: LookOptions): Span[] {
  const { parent, shortestMs, nowMs, serverMs, lookEveryMs, periods } = options;
  return spans.filter((span) => {
    if (span.parent !== parent || span.toMs >= serverMs || span.toMs + shortestMs >= nowMs) return false;
    return span.lookedMs === null || span.lookedFor !== periods || span.lookedMs <= nowMs - lookEveryMs;
  });
}

/** What stayed in older partitions is copied along while it is no more than this, so that it ends up in one. */
const MAX_TAIL_ROWS = 20_000;

export interface Rewrite {
  readonly fromId: string;
  readonly toId: string;
}

/**
 * The partitions that are copied with one: those before it of which little stayed, and those whose ends belong to one span
 * of time in the table of runs and in the log. Null: there is no such group.
 */
export function rewriteOf(spans: readonly Span[], span: Span, serverMs: number): Rewrite | null {
  const own = spans.filter(({ parent }) => parent === span.parent);
  const at = own.findIndex(({ name }) => name === span.name);
  let first = at;
  let rows = 0;
  while (first > 0) {
    const kept = own[first - 1]?.kept ?? null;
    if (kept === null || rows + kept > MAX_TAIL_ROWS) break;
    rows += kept;
    first -= 1;
  }
  if (span.parent !== "runs") return boundsOf(own[first], own[at]);
  const log = spans.filter(({ parent }) => parent === "run_log");
  const begins = (id: string | undefined): boolean => log.some(({ fromId }) => fromId === id);
  const ends = (id: string | undefined): boolean => log.some(({ toId }) => toId === id);
  while (first > 0 && !begins(own[first]?.fromId)) first -= 1;
  let last = at;
  while (last < own.length - 1 && !ends(own[last]?.toId)) last += 1;
  const fits = begins(own[first]?.fromId) && ends(own[last]?.toId) && (own[last]?.toMs ?? serverMs) < serverMs;
  return fits ? boundsOf(own[first], own[last]) : null;
}

const boundsOf = (first: Span | undefined, last: Span | undefined): Rewrite | null =>
  first && last ? { fromId: first.fromId, toId: last.toId } : null;
