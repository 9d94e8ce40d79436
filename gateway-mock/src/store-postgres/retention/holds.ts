/** Runs that are kept until they are released. */
import type { RunHold } from "@holdfast/store";
import { msOf, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

/** Locks the run, so that what removes it comes before, and there is none, or after, and finds the hold. */
const HOLD = `INSERT INTO holdfast.run_holds AS h (run_id, held_at, reason)
SELECT r.id, now(), $2 FROM holdfast.runs r WHERE r.id = $1 FOR KEY SHARE
ON CONFLICT (run_id) DO UPDATE SET reason = excluded.reason RETURNING ${msOf("held_at")} AS held_ms, reason`;

export async function holdRun(query: Query, runId: string, reason: string): Promise<RunHold | null> {
  const [row] = await query<{ held_ms: number; reason: string }>(HOLD, [runId, reason]);
  return row ? { heldMs: row.held_ms, reason: row.reason } : null;
}

export async function releaseHold(query: Query, runId: string): Promise<boolean> {
  return (await query("DELETE FROM holdfast.run_holds WHERE run_id = $1 RETURNING run_id", [runId])).length > 0;
}

export async function holdsOf(query: Query, runIds: readonly string[]): Promise<Map<string, RunHold>> {
  const rows = await query<{ run_id: string; held_ms: number; reason: string }>(
    `SELECT run_id, ${msOf("held_at")} AS held_ms, reason FROM holdfast.run_holds WHERE run_id = ANY($1::text[])`,
    [textArray(runIds)],
  );
  return new Map(rows.map(({ run_id: runId, held_ms: heldMs, reason }) => [runId, { heldMs, reason }]));
}
