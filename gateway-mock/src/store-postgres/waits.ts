/**
 * Statements that find waits for an event, a signal or the end of a run, by value where their condition allows it
 * (docs/decisions/0034).
 */
import type { Fence, StoredWait, WaitKind, WaitQuery } from "@holdfast/store";
import type { Query } from "./connection/database.ts";
import { msOf, textArray } from "./connection/pg-values.ts";

interface WaitRow {
  readonly run_id: string;
  readonly key: string;
  readonly kind: WaitKind;
  readonly name: string;
  readonly expression: string | null;
  readonly match: string;
  readonly began_ms: number;
  readonly expires_ms: number | null;
}

const COLUMNS = `w.run_id, w.key, w.kind, w.name, w.expression, w.match, ${msOf("w.began_at")} AS began_ms,
  ${msOf("w.expires_at")} AS expires_ms`;

/** Each match by itself, so that pages follow the index, however many wait. */
const find = (
  from: string,
  more: string,
): string => `SELECT w.* FROM unnest($3::text[]) AS m(match) CROSS JOIN LATERAL (
  SELECT ${COLUMNS} FROM holdfast.waits w ${from}
  WHERE w.name = $1 AND w.match = m.match AND w.kind = ANY($2::text[])
    AND (w.run_id, w.key) > (CASE WHEN m.match = $4 THEN $5 ELSE '' END, CASE WHEN m.match = $4 THEN $6 ELSE '' END)
    ${more} ORDER BY w.run_id, w.key LIMIT $7
) w WHERE m.match COLLATE "C" >= $4 ORDER BY w.match, w.run_id, w.key LIMIT $7`;

const FIND = find("", "");

/**
 * The event's time is its transaction's, as the wait's: what was known to wait when the event was sent began earlier.
 */
const FIND_FOR_EVENT = find(
  "JOIN holdfast.events e ON e.id = $8 JOIN holdfast.runs r ON r.id = w.run_id",
  "AND w.began_at < e.received_at AND (w.expires_at IS NULL OR w.expires_at > e.received_at) AND r.event_id <> e.id",
);

export async function findWaits(query: Query, wanted: WaitQuery): Promise<StoredWait[]> {
  const { name, kinds, eventId, matches = [""], limit, after } = wanted;
  const from = [after?.match ?? "", after?.runId ?? "", after?.key ?? ""];
  const several = textArray([...new Set(matches)]);
  const params = [name, textArray(kinds), several, ...from, Math.min(Math.max(limit, 1), 1000)];
  const rows = eventId
    ? await query<WaitRow>(FIND_FOR_EVENT, [...params, eventId])
    : await query<WaitRow>(FIND, params);
  return rows.map(waitOf);
}

/** From one to the next through the index: as many steps as there are paths, not as there are waits. */
const PATHS = `WITH RECURSIVE found(match) AS (
  (SELECT w.match FROM holdfast.waits w WHERE w.name = $1 AND w.match > '' ORDER BY w.match LIMIT 1)
  UNION ALL SELECT (
    SELECT w.match FROM holdfast.waits w WHERE w.name = $1 AND w.match > split_part(found.match, E'\\n', 1) || E'\\x0b'
    ORDER BY w.match LIMIT 1
  ) FROM found WHERE found.match IS NOT NULL
) SELECT split_part(match, E'\\n', 1) AS path FROM found WHERE match IS NOT NULL`;

export async function waitPaths(query: Query, name: string): Promise<string[]> {
  return (await query<{ path: string }>(PATHS, [name])).map(({ path }) => path);
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
  match: row.match,
  beganMs: row.began_ms,
  expiresMs: row.expires_ms,
});
