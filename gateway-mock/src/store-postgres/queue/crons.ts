/** Statements for schedules: each has one job, for its next tick. */
import {
  cronKey,
  type NewCron,
  type RegisteredCron,
  type ScheduledFunction,
  type StoredCron,
  scheduleText,
} from "@holdfast/store";
import { msOf, numberArray, textArray, timeOf } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

/** `scheduleText` of a row. */
const SCHEDULE_TEXT = `f.slug || E'\\n' || CASE WHEN f.active THEN f.triggers ELSE '' END`;

/** Jobs are made where they are missing: also those that something else has removed. */
const makeFrom = (source: string): string => `kept AS (
  INSERT INTO holdfast.crons AS c (function_id, cron, app_id, jitter_ms, next_at)
  SELECT function_id, cron, app_id, jitter_ms, ${timeOf("tick")} FROM ${source} ORDER BY function_id, cron
  ON CONFLICT (function_id, cron) DO UPDATE SET app_id = excluded.app_id, jitter_ms = excluded.jitter_ms
  RETURNING c.function_id, c.cron, c.next_at
)
INSERT INTO holdfast.queue (id, run_id, kind, key, function_id, attempt, iteration, priority, epoch, available_at,
  created_at, lost)
SELECT s.job_id, '', 'cron', s.key, '', 0, 0, 0, 0, GREATEST(k.next_at, ${timeOf("s.due")}, now()), now(), false
FROM ${source} s JOIN kept k USING (function_id, cron)
ON CONFLICT (run_id, kind, key) DO NOTHING`;

/** The lock does for the whole app what that of `REPAIR` does for one function. */
const SAVE = `WITH known AS MATERIALIZED (
  SELECT ${SCHEDULE_TEXT} AS text FROM holdfast.functions f WHERE f.app_id = ANY($9::text[])
  ORDER BY f.slug FOR SHARE
), same AS MATERIALIZED (
  SELECT FROM known HAVING COALESCE(bool_and(text = ANY($10::text[])), true)
), wanted AS MATERIALIZED (
  SELECT w.* FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::float8[], $6::float8[], $7::text[], $8::text[])
    AS w(function_id, app_id, cron, jitter_ms, tick, due, job_id, key), same
), gone AS (
  DELETE FROM holdfast.crons c USING same WHERE (c.app_id = ANY($9::text[])
      -- Its function was another app's before.
      OR c.function_id IN (SELECT f.slug FROM holdfast.functions f WHERE f.app_id = ANY($9::text[])))
    AND NOT EXISTS (SELECT FROM wanted w WHERE w.function_id = c.function_id AND w.cron = c.cron)
  RETURNING c.function_id, c.cron
), unqueued AS (
  DELETE FROM holdfast.queue q USING gone
  WHERE q.run_id = '' AND q.kind = 'cron' AND q.key = gone.function_id || E'\\n' || gone.cron
), ${makeFrom("wanted")}`;

/**
 * The lock keeps a registration that takes a schedule away from committing in between: it comes first, and the
 * function's triggers are others, or it comes after, and removes what is made here.
 */
const REPAIR = `WITH missing AS MATERIALIZED (
  SELECT w.* FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::float8[], $6::float8[], $7::text[], $8::text[],
    $9::text[]) AS w(function_id, app_id, cron, jitter_ms, tick, due, job_id, key, triggers)
  JOIN holdfast.functions f ON f.slug = w.function_id AND f.active AND f.triggers = w.triggers
  WHERE NOT EXISTS (SELECT FROM holdfast.crons c WHERE c.function_id = w.function_id AND c.cron = w.cron)
    OR NOT EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'cron' AND q.key = w.key)
  ORDER BY f.slug FOR SHARE OF f
), ${makeFrom("missing")}`;

/** Schedules of a graph, in the transaction that publishes it: they belong to no function. */
const SAVE_OF_GRAPH = `WITH wanted AS MATERIALIZED (
  SELECT w.* FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::float8[], $6::float8[], $7::text[], $8::text[])
    AS w(function_id, app_id, cron, jitter_ms, tick, due, job_id, key)
), gone AS (
  DELETE FROM holdfast.crons c WHERE c.function_id = $9
    AND NOT EXISTS (SELECT FROM wanted w WHERE w.function_id = c.function_id AND w.cron = c.cron)
  RETURNING c.function_id, c.cron
), unqueued AS (
  DELETE FROM holdfast.queue q USING gone
  WHERE q.run_id = '' AND q.kind = 'cron' AND q.key = gone.function_id || E'\\n' || gone.cron
), ${makeFrom("wanted")}`;

/** The lock holds a publication up that takes the schedule away: it comes first, or removes what is made here. */
const REPAIR_OF_GRAPHS = `WITH missing AS MATERIALIZED (
  SELECT w.* FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::float8[], $6::float8[], $7::text[], $8::text[],
    $9::text[], $10::int[]) AS w(function_id, app_id, cron, jitter_ms, tick, due, job_id, key, uid, version)
  JOIN holdfast.graph_triggers t ON t.uid = w.uid AND t.version = w.version
  WHERE NOT EXISTS (SELECT FROM holdfast.crons c WHERE c.function_id = w.function_id AND c.cron = w.cron)
    OR NOT EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'cron' AND q.key = w.key)
  ORDER BY t.uid FOR SHARE OF t
), ${makeFrom("missing")}`;

const columnsOf = (crons: readonly NewCron[]): string[] => [
  textArray(crons.map((one) => one.functionId)),
  textArray(crons.map((one) => one.appId)),
  textArray(crons.map((one) => one.cron)),
  numberArray(crons.map((one) => one.jitterMs)),
  numberArray(crons.map((one) => one.tickMs)),
  numberArray(crons.map((one) => one.dueMs)),
  textArray(crons.map((one) => one.jobId)),
  textArray(crons.map((one) => cronKey(one.functionId, one.cron))),
];

export async function saveCrons(
  query: Query,
  appIds: readonly string[],
  functions: readonly ScheduledFunction[],
  crons: readonly NewCron[],
): Promise<void> {
  await query(SAVE, [...columnsOf(crons), textArray(appIds), textArray(functions.map(scheduleText))]);
}

export async function repairCrons(query: Query, crons: readonly RegisteredCron[]): Promise<void> {
  await query(REPAIR, [...columnsOf(crons), textArray(crons.map((one) => one.triggersJson))]);
}

export async function saveGraphCrons(query: Query, owner: string, crons: readonly NewCron[]): Promise<void> {
  await query(SAVE_OF_GRAPH, [...columnsOf(crons), owner]);
}

export async function repairGraphCrons(
  query: Query,
  crons: readonly (NewCron & { readonly uid: string; readonly version: number })[],
): Promise<void> {
  const [uids, versions] = [crons.map(({ uid }) => uid), crons.map(({ version }) => version)];
  await query(REPAIR_OF_GRAPHS, [...columnsOf(crons), textArray(uids), numberArray(versions)]);
}

export async function loadCron(query: Query, functionId: string, cron: string): Promise<StoredCron | null> {
  const [row] = await query<{ jitter_ms: number; tick_ms: number; now_ms: number }>(
    `SELECT jitter_ms, ${msOf("next_at")} AS tick_ms, ${msOf("now()")} AS now_ms FROM holdfast.crons
WHERE function_id = $1 AND cron = $2`,
    [functionId, cron],
  );
  return row ? { functionId, cron, jitterMs: Number(row.jitter_ms), tickMs: row.tick_ms, nowMs: row.now_ms } : null;
}
