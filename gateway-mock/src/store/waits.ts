import type { Query } from "./database.ts";
import { msOf, textArray } from "./pg-values.ts";
import type { Fence, StoredWait, WaitKind, WaitQuery } from "./store.ts";

interface WaitRow {
  readonly run_id: string;
  readonly key: string;
  readonly kind: WaitKind;
  readonly name: string;
  readonly expression: string | null;
  readonly began_ms: number;
  readonly expires_ms: number | null;
}

const COLUMNS = `w.run_id, w.key, w.kind, w.name, w.expression, ${msOf("w.began_at")} AS began_ms,
  ${msOf("w.expires_at")} AS expires_ms`;

const FIND = `SELECT ${COLUMNS} FROM holdfast.waits w
WHERE w.name = $1 AND w.kind = ANY($2::text[]) AND (w.run_id, w.key) > ($3, $4)
ORDER BY w.run_id, w.key LIMIT $5`;

/** The event's time is its transaction's, as the wait's: what was known to wait when the event was sent began earlier. */
const FIND_FOR_EVENT = `SELECT ${COLUMNS} FROM holdfast.waits w
JOIN holdfast.events e ON e.id = $6 JOIN holdfast.runs r ON r.id = w.run_id
WHERE w.name = $1 AND w.kind = ANY($2::text[]) AND (w.run_id, w.key) > ($3, $4)
  AND w.began_at < e.received_at AND (w.expires_at IS NULL OR w.expires_at > e.received_at) AND r.event_id <> e.id
ORDER BY w.run_id, w.key LIMIT $5`;

export async function findWaits(query: Query, wanted: WaitQuery): Promise<StoredWait[]> {
  const { name, kinds, eventId, limit, after } = wanted;
  const params = [name, textArray(kinds), after?.runId ?? "", after?.key ?? "", Math.min(Math.max(limit, 1), 1000)];
  const rows = eventId
    ? await query<WaitRow>(FIND_FOR_EVENT, [...params, eventId])
    : await query<WaitRow>(FIND, params);
  return rows.map(waitOf);
}

export async function waitsOfRun(query: Query, runId: string): Promise<StoredWait[]> {
  const rows = await query<WaitRow>(
    `SELECT ${COLUMNS} FROM holdfast.waits w WHERE w.run_id = $1 ORDER BY w.began_at, w.key`,
    [runId],
  );
  return rows.map(waitOf);
}

export async function finishJob(query: Query, { jobId, epoch }: Fence): Promise<boolean> {
  const text =
    "DELETE FROM holdfast.queue WHERE id = $1 AND epoch = $2 AND (run_id = '' OR kind = 'start') RETURNING id";
  return (await query(text, [jobId, epoch])).length > 0;
}

const waitOf = (row: WaitRow): StoredWait => ({
  runId: row.run_id,
  key: row.key,
  kind: row.kind,
  name: row.name,
  expression: row.expression,
  beganMs: row.began_ms,
  expiresMs: row.expires_ms,
});
