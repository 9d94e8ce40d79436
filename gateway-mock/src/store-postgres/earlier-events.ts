/**
 * Statements that find events which came before a wait for them began, and that tell when every write is over which may
 * not have seen the wait (docs/decisions/0096).
 */
import { coalesced } from "@holdfast/core";
import type { EventScan, EventScanPage, Store } from "@holdfast/store";
import { textArray, timeOf } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";

const MAX_PAGE = 100_000;

/** Begins statements that are transactions by themselves and write nothing: none of them can have missed a wait. */
const READS_ONLY = "/* holdfast: reads only */";

const WHOLE = "holdfast.whole_event(e.payload, e.id, e.name, e.ts)";

/**
 * Looked at in the order of ids, which is that of the table. What is cheap to compare comes first: of most events the
 * payload is never read. A text may also stand in the payload with escapes, a number with an exponent.
 */
const SCAN = `${READS_ONLY} SELECT max(e.id) AS last, count(*)::int AS seen, json_agg(e.id ORDER BY e.id) FILTER (WHERE
  CASE WHEN e.name = $2 AND e.received_at >= ${timeOf("$3::float8")} AND strpos(e.run_ids, $4) = 0
    THEN $5::text IS NULL OR strpos(${WHOLE}, $5::text) > 0 OR strpos(e.payload, '\\') > 0
      OR ($5::text !~ '^"' AND e.payload ~ '[:,[][[:space:]]*-?[0-9.]+[eE]') ELSE false END)::text AS ids
FROM (SELECT id, name, received_at, run_ids, ts, payload FROM holdfast.events WHERE id > $1 ORDER BY id LIMIT $6) e`;

interface ScanRow {
  readonly last: string | null;
  readonly seen: number;
  readonly ids: string | null;
}

async function scanEvents(query: Query, scan: EventScan): Promise<EventScanPage> {
  const { name, after, sinceMs, notOfRun, text } = scan;
  const pageSize = Math.min(Math.max(Math.trunc(scan.pageSize), 1), MAX_PAGE);
  const [row] = await query<ScanRow>(SCAN, [after, name, sinceMs, notOfRun, text, pageSize]);
  const ids = JSON.parse(row?.ids ?? "[]") as string[];
  return { ids, last: Number(row?.seen) < pageSize ? null : (row?.last ?? null) };
}

/**
 * Each transaction holds the lock of its own number from before its first look at the tables until its rows can be read.
 * Those of other databases write no events, nor do looks for other waits, which would wait for each other. What a
 * backend is at is seen a moment before or after its lock: a write that is taken for a look has begun or ended meanwhile.
 */
const UNDER_WAY = `SELECT l.virtualtransaction AS write FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.pid <> pg_backend_pid()
  AND a.datname = current_database() AND COALESCE(a.backend_type, 'client backend') = 'client backend'
  AND NOT COALESCE(a.state = 'active' AND starts_with(a.query, '${READS_ONLY}'), false)`;
const UNDER_WAY_AMONG = `${UNDER_WAY} AND l.virtualtransaction = ANY($1::text[])`;

async function underWay(query: Query, among: readonly string[] | undefined): Promise<string[]> {
  const rows =
    among === undefined
      ? await query<{ write: string }>(UNDER_WAY)
      : await query<{ write: string }>(UNDER_WAY_AMONG, [textArray(among)]);
  return rows.map(({ write }) => write);
}

/** Many ask at once: one statement answers those that asked before it was sent. */
async function underWayForAll(query: Query, all: readonly (readonly string[] | null)[]): Promise<string[][]> {
  const writes = await underWay(
    query,
    all.some((among) => among === null) ? undefined : [...new Set(all.flatMap((one) => one ?? []))],
  );
  return all.map((among) => (among === null ? writes : writes.filter((write) => among.includes(write))));
}

export function earlierEvents(query: Query): Pick<Store, "scanEvents" | "writesUnderWay"> {
  const ask = coalesced({ atOnce: 2, most: 256 }, (all: readonly (readonly string[] | null)[]) =>
    underWayForAll(query, all),
  );
  return {
    scanEvents: (scan) => scanEvents(query, scan),
    writesUnderWay: (among) => ask(among ?? null),
  };
}
