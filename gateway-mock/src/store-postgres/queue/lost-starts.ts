/**
 * Keeps when a run began where the work that it began with is lost: its head says so only with the first commit, and the
 * next claim of the job has a time of its own.
 */
import type { LeaseRelease } from "@holdfast/store";
import { isAmong, isBetween, msOf, numberArray, rowsOf, textArray, timeOf } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

const BEGUN = `SELECT q.run_id, ${msOf("min(q.claimed_at)")} AS begun_ms
FROM ${rowsOf({ id: "$1::text[]", epoch: "$2::int[]", held_by: "$3::text[]" })} CROSS JOIN LATERAL (
  SELECT q.run_id, q.claimed_at FROM holdfast.queue q WHERE q.id = n.id AND q.epoch = n.epoch
    AND q.leased_by = COALESCE(n.held_by, q.leased_by) AND q.kind IN ('pass', 'step')) q
GROUP BY q.run_id ORDER BY q.run_id`;

/** A head that is locked is being written by a decision, which says itself when the run began: nothing waits for it. */
const KEEP = `WITH heads AS MATERIALIZED (
  SELECT r.id FROM holdfast.runs r WHERE ${isAmong("r.id", "$1::text[]")} AND r.started_at IS NULL ORDER BY r.id FOR UPDATE SKIP LOCKED
)
UPDATE holdfast.runs r SET started_at = ${timeOf("n.begun_ms")}
FROM ${rowsOf({ id: "$1::text[]", begun_ms: "$2::float8[]" })} JOIN heads ON heads.id = n.id
WHERE r.id = n.id AND ${isBetween("r.id", "$1::text[]")} AND r.started_at IS NULL`;

/** Before they are released. */
export async function keepLostStarts(query: Query, releases: readonly LeaseRelease[]): Promise<void> {
  const lost = releases.filter((release) => release.lost === true);
  if (lost.length === 0) return;
  const begun = await query<{ run_id: string; begun_ms: number }>(BEGUN, [
    textArray(lost.map(({ jobId }) => jobId)),
    numberArray(lost.map(({ epoch }) => epoch)),
    textArray(lost.map(({ heldBy }) => heldBy ?? null)),
  ]);
  if (begun.length === 0) return;
  await query(KEEP, [textArray(begun.map(({ run_id }) => run_id)), numberArray(begun.map(({ begun_ms }) => begun_ms))]);
}
