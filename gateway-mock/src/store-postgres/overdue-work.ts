/** The statement that finds what has been due for a while and no worker has: for the lines that say why runs wait. */
import { MAX_AHEAD, OVERDUE_NAMED, type OverdueWork, type WaitingReads } from "@holdfast/store";
import { msOf, textArray } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";
import { busyAmong } from "./queue/busy-functions.ts";
import { prioritiesOf } from "./queue/priorities.ts";

/** One priority after another, so that what is due later is not read, however much there is of it. */
const OVERDUE = `SELECT f.place, w.count, w.runs FROM unnest($1::text[]) WITH ORDINALITY AS f(id, place)
CROSS JOIN LATERAL (
  WITH RECURSIVE ${prioritiesOf("f.id")}, due AS (
    (SELECT d.run_id, d.since FROM priorities p CROSS JOIN LATERAL (
      SELECT q.run_id, q.available_at AS since FROM holdfast.queue q
      WHERE q.function_id = f.id AND q.priority = p.priority
        AND q.available_at <= now() - $2::float8 * interval '1 millisecond' AND q.kind IN ('pass', 'step')
      ORDER BY q.available_at LIMIT ${MAX_AHEAD}
    ) d LIMIT ${MAX_AHEAD})
    UNION ALL
    (SELECT q.run_id, q.created_at FROM holdfast.queue q
    WHERE q.function_id = f.id AND q.wanted_version IS NOT NULL AND q.leased_by IS NULL AND q.kind IN ('pass', 'step')
      AND q.available_at > now() - $2::float8 * interval '1 millisecond'
      AND q.created_at <= now() - $2::float8 * interval '1 millisecond'
    LIMIT ${MAX_AHEAD})
  ), runs AS (SELECT run_id, min(since) AS since FROM due GROUP BY run_id)
  SELECT LEAST(count(*), ${MAX_AHEAD})::int AS count, (
    SELECT json_agg(json_build_array(o.run_id, o.since_ms) ORDER BY o.since_ms, o.run_id)::text FROM (
      SELECT r.run_id, ${msOf("r.since")} AS since_ms FROM runs r ORDER BY r.since, r.run_id LIMIT ${OVERDUE_NAMED}
    ) o
  ) AS runs FROM runs
) w WHERE w.count > 0 ORDER BY f.place`;

export async function overdueWork(
  query: Query,
  { functionIds: asked, dueForMs }: Parameters<WaitingReads["overdueWork"]>[0],
): Promise<OverdueWork[]> {
  const functionIds = await busyAmong(query, asked, (id) => id);
  if (functionIds.length === 0) return [];
  const found = await query<{ place: number; count: number; runs: string }>(OVERDUE, [
    textArray(functionIds),
    dueForMs,
  ]);
  return found.map(({ place, count, runs }) => ({
    functionId: functionIds[Number(place) - 1] ?? "",
    count,
    runs: (JSON.parse(runs) as [string, number][]).map(([runId, dueMs]) => ({ runId, dueMs })),
  }));
}
