/** The list of runs as it is shown: pages put together, and what the stream says applied to them. Pure. */
import type { Facts } from "./live.ts";
import { isEnded, type Run, type RunPage } from "./types.ts";

export interface Rows {
  /** The newest first. */
  readonly runs: readonly Run[];
  /** Where the next page begins; null: there is none. */
  readonly nextCursor: string | null;
}

export const EMPTY: Rows = { runs: [], nextCursor: null };

/** The first page read anew, in front of what was shown. A page that does not reach what was shown replaces it. */
export function withHead(rows: Rows, page: RunPage): Rows {
  const oldest = page.runs.at(-1);
  const newest = rows.runs[0];
  if (oldest === undefined || newest === undefined || page.nextCursor === null || newest.id < oldest.id) return page;
  const behind = rows.runs.filter(({ id }) => id < oldest.id);
  return { runs: [...page.runs, ...behind], nextCursor: behind.length === 0 ? page.nextCursor : rows.nextCursor };
}

export function withNext(rows: Rows, page: RunPage): Rows {
  const known = new Set(rows.runs.map(({ id }) => id));
  return { runs: [...rows.runs, ...page.runs.filter(({ id }) => !known.has(id))], nextCursor: page.nextCursor };
}

/** What changed of the runs that are shown; `isNewer`: there are changes that only a new first page can show. */
export function withFacts(rows: Rows, changes: readonly Facts[]): { readonly rows: Rows; readonly isNewer: boolean } {
  const byRun = new Map<string, Facts[]>();
  for (const change of changes) byRun.set(change.runId, [...(byRun.get(change.runId) ?? []), change]);
  let isNewer = false;
  let changed = false;
  const runs = rows.runs.map((run) => {
    const own = byRun.get(run.id);
    if (!own) return run;
    byRun.delete(run.id);
    const next = own.reduce(applied, run);
    if (next !== run) changed = true;
    // Why it waits, and what it came to, are not in the stream.
    isNewer = true;
    return next;
  });
  if (byRun.size > 0) isNewer = true;
  return { rows: changed ? { ...rows, runs } : rows, isNewer };
}

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
