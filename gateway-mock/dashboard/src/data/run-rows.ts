/** The list of runs as it is shown: pages put together, and what the stream says applied to them. Pure. */
import type { Facts } from "./live.ts";
import { isEnded, type Run, type RunPage, type Status } from "./types.ts";

export interface Rows {
  /** The newest first. */
  readonly runs: readonly Run[];
  /** Where the next page begins; null: there is none. */
  readonly nextCursor: string | null;
  /** An id, or the beginning of one: from here down to `nextCursor` no run that fits is left out. Empty: nothing was read. */
  readonly top: string;
}

export const EMPTY: Rows = { runs: [], nextCursor: null, top: "" };

/** Whether older runs than the page has were looked through, and none is left out between them and the page. */
export const isReached = ({ top }: Rows, { nextCursor }: RunPage): boolean =>
  nextCursor !== null && top !== "" && nextCursor <= top;

/**
 * The first page read anew, in front of what was shown; one that does not reach what was shown replaces it. What was
 * looked through stays looked through: where runs that fit are rare, pages are short or empty.
 * @param settled an id, or the beginning of one, up to which all runs had come before the page was read
 */
export function withHead(rows: Rows, page: RunPage, settled: string): Rows {
  const { nextCursor } = page;
  const top = newerOf(settled, page.runs[0]?.id ?? "");
  if (nextCursor === null || !isReached(rows, page)) return { ...page, top };
  const behind = rows.runs.filter(({ id }) => id < nextCursor);
  return {
    runs: [...page.runs, ...behind],
    nextCursor: rows.nextCursor === null || rows.nextCursor < nextCursor ? rows.nextCursor : nextCursor,
    top: newerOf(top, rows.top),
  };
}

export function withNext(rows: Rows, page: RunPage): Rows {
  const known = new Set(rows.runs.map(({ id }) => id));
  const older = page.runs.filter(({ id }) => !known.has(id));
  return { ...rows, runs: [...rows.runs, ...older], nextCursor: page.nextCursor };
}

const newerOf = (a: string, b: string): string => (a > b ? a : b);

/**
 * What changed of the runs that are shown; `isNewer`: there are changes that only a new first page can show.
 * @param statuses of the filter; empty: any
 */
export function withFacts(
  rows: Rows,
  changes: readonly Facts[],
  statuses: readonly Status[],
): { readonly rows: Rows; readonly isNewer: boolean } {
  const byRun = new Map<string, Facts[]>();
  for (const change of changes) byRun.set(change.runId, [...(byRun.get(change.runId) ?? []), change]);
  let changed = false;
  const runs = rows.runs.flatMap((run) => {
    const own = byRun.get(run.id);
    if (!own) return run;
    const next = own.reduce(applied, run);
    if (next === run) return run;
    changed = true;
    return isWanted(next.status, statuses) ? next : [];
  });
  // Why runs wait, and what they came to, are not in the stream.
  return { rows: changed ? { ...rows, runs } : rows, isNewer: byRun.size > 0 };
}

/** Whether a worker is at a run that has not ended is not in the stream, so any status of those may be the one that is shown. */
const isWanted = (status: Status, statuses: readonly Status[]): boolean =>
  statuses.length === 0 ||
  statuses.includes(status) ||
  (!isEnded(status) && statuses.some((wanted) => !isEnded(wanted)));

function applied(run: Run, { status, atMs }: Facts): Run {
  if (status === null || status === run.status) return run;
  return {
    ...run,
    status: status as Run["status"],
    waiting: null,
    startedMs: run.startedMs ?? (status === "RUNNING" ? atMs : null),
    endedMs: isEnded(status) ? atMs : null,
  };
}
