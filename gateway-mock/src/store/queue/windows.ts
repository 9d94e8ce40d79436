import type { Query } from "../database/database.ts";
import { intervalOf, msOf, numberArray, textArray, timeOf } from "../database/pg-values.ts";
import { cronKey, type Fence, type NewCron, type OpenWindow, type StoredCron, type WindowKey } from "../port/index.ts";

export async function postponeJob(query: Query, { jobId, epoch }: Fence, delayMs: number): Promise<boolean> {
  const text = `UPDATE holdfast.queue SET available_at = now() + ${intervalOf("$3::float8")}, leased_by = NULL
WHERE id = $1 AND epoch = $2 RETURNING id`;
  return (await query(text, [jobId, epoch, delayMs])).length > 0;
}

interface WindowRow {
  readonly count: number;
  readonly data: string;
  readonly due_in_ms: number | null;
}

export async function loadWindow(
  query: Query,
  window: WindowKey & { readonly id: string },
): Promise<OpenWindow | null> {
  const { functionId, kind, key, id } = window;
  const [row] = await query<WindowRow>(
    `SELECT count, data, date_part('epoch', due_at - now()) * 1000 AS due_in_ms FROM holdfast.gates
WHERE function_id = $1 AND kind = $2 AND key = $3 AND run_id = $4`,
    [functionId, kind, key, id],
  );
  if (!row) return null;
  const [, ...eventIds] = row.data.split(" ");
  const dueInMs = Math.max(0, Math.ceil(Number(row.due_in_ms ?? 0)));
  return { functionId, kind, key, id, count: Number(row.count), eventIds, dueInMs };
}

export async function loadEvents(query: Query, eventIds: readonly string[]): Promise<string[]> {
  const rows = await query<{ payload: string }>(
    `SELECT e.payload FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place) JOIN holdfast.events e USING (id) ORDER BY n.place`,
    [textArray(eventIds)],
  );
  return rows.map((row) => row.payload);
}

/** Jobs are made where they are missing: also those that something else has removed. */
const SAVE_CRONS = `WITH wanted AS (
  SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::float8[], $7::float8[], $8::text[], $9::text[])
    AS w(function_id, app_id, cron, jitter_ms, tick, due, job_id, key)
), gone AS (
  DELETE FROM holdfast.crons c WHERE c.app_id = ANY($1::text[])
    AND NOT EXISTS (SELECT FROM wanted w WHERE w.function_id = c.function_id AND w.cron = c.cron)
  RETURNING c.function_id, c.cron
), unqueued AS (
  DELETE FROM holdfast.queue q USING gone
  WHERE q.run_id = '' AND q.kind = 'cron' AND q.key = gone.function_id || E'\\n' || gone.cron
), kept AS (
  INSERT INTO holdfast.crons AS c (function_id, cron, app_id, jitter_ms, next_at)
  SELECT function_id, cron, app_id, jitter_ms, ${timeOf("tick")} FROM wanted ORDER BY function_id, cron
  ON CONFLICT (function_id, cron) DO UPDATE SET app_id = excluded.app_id, jitter_ms = excluded.jitter_ms
  RETURNING c.function_id, c.cron, c.next_at
)
INSERT INTO holdfast.queue (id, run_id, kind, key, function_id, attempt, iteration, priority, epoch, available_at,
  created_at, lost)
SELECT w.job_id, '', 'cron', w.key, '', 0, 0, 0, 0, GREATEST(k.next_at, ${timeOf("w.due")}), now(), false
FROM wanted w JOIN kept k USING (function_id, cron)
ON CONFLICT (run_id, kind, key) DO NOTHING`;

export async function saveCrons(query: Query, appIds: readonly string[], crons: readonly NewCron[]): Promise<void> {
  await query(SAVE_CRONS, [
    textArray(appIds),
    textArray(crons.map((one) => one.functionId)),
    textArray(crons.map((one) => one.appId)),
    textArray(crons.map((one) => one.cron)),
    numberArray(crons.map((one) => one.jitterMs)),
    numberArray(crons.map((one) => one.tickMs)),
    numberArray(crons.map((one) => one.dueMs)),
    textArray(crons.map((one) => one.jobId)),
    textArray(crons.map((one) => cronKey(one.functionId, one.cron))),
  ]);
}

export async function loadCron(query: Query, functionId: string, cron: string): Promise<StoredCron | null> {
  const [row] = await query<{ jitter_ms: number; tick_ms: number; now_ms: number }>(
    `SELECT jitter_ms, ${msOf("next_at")} AS tick_ms, ${msOf("now()")} AS now_ms FROM holdfast.crons
WHERE function_id = $1 AND cron = $2`,
    [functionId, cron],
  );
  return row ? { functionId, cron, jitterMs: Number(row.jitter_ms), tickMs: row.tick_ms, nowMs: row.now_ms } : null;
}
