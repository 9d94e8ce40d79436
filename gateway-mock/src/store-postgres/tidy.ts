/**
 * Removes what is past its time beside runs and events: keys of events, rows of flow rules, of runs that went with their
 * partition, and of gateways and workers that are long gone. Retention removes the rest (docs/decisions/0121).
 */
import type { Database } from "./connection/database.ts";
import type { Query } from "./connection/query.ts";
import { GROUP_KEPT } from "./registry.ts";
import { EVENT_KEY_LIFETIME } from "./writer/event-keys.ts";

/** Rows that a statement removes at most: others write to these tables. */
const ROWS_AT_ONCE = 5_000;
/** Rows whose runs a statement looks up. */
const ROWS_A_LOOK = 1_000;
/**
 * Of each of these tables, at every call: much may come in the 15 seconds between two. All of them together must leave
 * time for the next call, before which other gateways take the connections of this one for lost.
 */
const LIMIT_MS = 3_000;

/**
 * Statements that answer how many rows they removed. Each is repeated while it finds as many as it may remove. Rows are
 * removed by their places, which stay as they are while they are locked: no join can read a table for them that was
 * empty when it was planned (docs/decisions/0177).
 */
const REMOVALS: readonly string[] = [
  `DELETE FROM holdfast.event_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM holdfast.event_keys
WHERE received_at < now() - interval '${EVENT_KEY_LIFETIME}' ORDER BY received_at LIMIT ${ROWS_AT_ONCE} FOR UPDATE SKIP LOCKED))`,
  `DELETE FROM holdfast.used_tokens WHERE ctid = ANY(ARRAY(SELECT ctid
FROM holdfast.used_tokens WHERE expires_at < now() ORDER BY connection_id LIMIT ${ROWS_AT_ONCE} FOR UPDATE SKIP LOCKED))`,
];

/** Rows of flow rules. One that a run still holds is kept, and looked at again an hour later: a run may sleep for weeks. */
const PAST_GATES = `WITH past AS MATERIALIZED (
  SELECT ctid AS place, kind, run_id FROM holdfast.gates WHERE expires_at < now()
  ORDER BY expires_at LIMIT ${ROWS_AT_ONCE} FOR UPDATE SKIP LOCKED
), held AS MATERIALIZED (
  SELECT p.place FROM past p
  CROSS JOIN LATERAL (SELECT FROM holdfast.runs r WHERE r.id = p.run_id AND r.ended_at IS NULL OFFSET 0) r
  WHERE p.kind = 'single'
), kept AS (
  UPDATE holdfast.gates SET expires_at = now() + interval '1 hour' WHERE ctid = ANY(ARRAY(SELECT place FROM held))
), gone AS (
  DELETE FROM holdfast.gates WHERE ctid = ANY(ARRAY(SELECT place FROM past EXCEPT SELECT place FROM held))
) SELECT count(*)::int AS rows FROM past`;

/** Of these there are few. */
const FEW: readonly string[] = [
  `DELETE FROM holdfast.writers WHERE id IN (SELECT id FROM holdfast.writers
WHERE seen_at < now() - interval '7 days' FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM holdfast.worker_drains d WHERE since < now() - interval '7 days'
AND NOT EXISTS (SELECT FROM holdfast.connections c WHERE right(d.instance, length(c.instance_id)) = c.instance_id)`,
  `DELETE FROM holdfast.gateways WHERE id IN (SELECT id FROM holdfast.gateways
WHERE seen_at < now() - interval '7 days' FOR UPDATE SKIP LOCKED)`,
  `DELETE FROM holdfast.app_groups WHERE (app_id, hash) IN (SELECT g.app_id, g.hash FROM holdfast.app_groups g
WHERE g.seen_at < now() - interval '${GROUP_KEPT}'
  AND EXISTS (SELECT FROM holdfast.app_groups o WHERE o.app_id = g.app_id AND o.since > g.since) FOR UPDATE SKIP LOCKED)`,
  "DELETE FROM holdfast.bulk_jobs WHERE ended_at < now() - interval '90 days'",
];

const counted = (removal: string): string =>
  `WITH gone AS (${removal} RETURNING 1) SELECT count(*)::int AS rows FROM gone`;

/** One page of a table in the order of its ids, which is that of time; which of its runs are gone is looked up. */
const pageOf = (table: "run_origins" | "graph_runs", upto: string): string => `WITH page AS MATERIALIZED (
  SELECT run_id FROM holdfast.${table} WHERE run_id > $1 AND run_id < ${upto} ORDER BY run_id LIMIT ${ROWS_A_LOOK}
), gone AS (
  DELETE FROM holdfast.${table} WHERE run_id = ANY(ARRAY(SELECT page.run_id FROM page
    WHERE NOT EXISTS (SELECT FROM holdfast.runs r WHERE r.id = page.run_id OFFSET 0)))
) SELECT count(*)::int AS rows, max(run_id) AS last FROM page`;

/** Of the runs below retention has left a few, if any: it has replaced their partitions, or dropped them. */
const REPLACED = `COALESCE((SELECT min(from_id) FROM holdfast.table_partitions WHERE parent = 'runs' AND kept IS NULL), '')`;
/** Above all ids. */
const TOP = "'~'";

/** What it works with, and the time. */
export interface TidyParts {
  readonly query: Query;
  readonly monotonicMs: () => number;
}

export const tidierOf = ({ query, options }: Database): (() => Promise<void>) =>
  openTidier({ query, monotonicMs: options.monotonicMs });

/** Each call goes on where the one before has stopped. */
export function openTidier({ query, monotonicMs }: TidyParts): () => Promise<void> {
  /** Again while there is more, within the limit. */
  async function inPieces(piece: () => Promise<boolean>): Promise<void> {
    const endMs = monotonicMs() + LIMIT_MS;
    while ((await piece()) && monotonicMs() < endMs);
  }

  /** The next page; after the last one it begins anew. Says whether there is another one. */
  function pagesOf(text: string): () => Promise<boolean> {
    let after = "";
    return async () => {
      const [page] = await query<{ rows: number; last: string | null }>(text, [after]);
      after = page && page.rows >= ROWS_A_LOOK ? (page.last ?? "") : "";
      return after !== "";
    };
  }

  const ofRuns = (["run_origins", "graph_runs"] as const).map((table) => ({
    replaced: pagesOf(pageOf(table, REPLACED)),
    // Single runs are removed from partitions that stay, too.
    all: pagesOf(pageOf(table, TOP)),
  }));

  return async () => {
    for (const text of [...REMOVALS.map(counted), PAST_GATES]) {
      await inPieces(async () => {
        const [row] = await query<{ rows: number }>(text);
        return Number(row?.rows) >= ROWS_AT_ONCE;
      });
    }
    for (const removal of FEW) await query(removal);
    for (const { replaced, all } of ofRuns) {
      await inPieces(replaced);
      await all();
    }
  };
}
