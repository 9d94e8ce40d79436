/** Columns and order of claims, shared by both kinds, and the runs that come with the claimed jobs. */
import { type ClaimedJob, type ClaimRequest, comesAlone, type Fence, type JobKind, type Paced } from "@holdfast/store";
import { msOf, rowsOf } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

import { loadRuns } from "../run-loader.ts";

/** What claims with and without limits have in common. */

/**
 * Of a table `q`: only the rows whose ids `from` has. It says to the planner, which knows no size of `from`, that they
 * are few: joined alone it reads the whole queue into a hash table.
 */
export const amongThe = (from: string): string => `q.id = ANY (ARRAY(SELECT id FROM ${from}))`;

/**
 * Jobs that are as rows of `columns` (`id`, `epoch`, more) and `condition` say, as `held`: locked one after the other, in
 * the order of the rows. Each is a look into the index of its own: joined as sets, a crowd costs its square.
 */
export const heldJobs = (
  columns: { readonly id: string; readonly epoch: string } & Readonly<Record<string, string>>,
  condition: string,
): string => `held AS MATERIALIZED (
  SELECT n.* FROM ${rowsOf(columns)} CROSS JOIN LATERAL (
    SELECT FROM holdfast.queue q WHERE q.id = n.id AND q.epoch = n.epoch AND (${condition}) FOR UPDATE) q
)`;

/** By id, as everywhere, so that two statements never wait for each other in a circle. */
export const inLockOrder = <F extends Fence>(fences: readonly F[]): F[] =>
  [...fences].sort((a, b) => (a.jobId < b.jobId ? -1 : 1));

export const JOB_COLUMNS = `q.id, q.run_id, q.kind, q.key, q.function_id, q.attempt, q.iteration, q.priority, q.epoch,
  ${msOf("q.available_at")} AS until_ms`;

/** Of a job in its new epoch: the line of the fact that the lease before was lost, a row of the log by itself. */
export const LEASE_LOST = "'LEASE_LOST ' || attempt || ' ' || (epoch - 1) || ' ' || id";

/** After a lost connection: what the claim took, if it took anything. */
export const CLAIMED_BEFORE = `SELECT ${JOB_COLUMNS}, ${msOf("q.claimed_at")} AS due_ms,
  CASE WHEN q.epoch = 1 THEN 0 END::float8 AS unplaced_ms, EXISTS (
    SELECT FROM holdfast.run_log l WHERE l.run_id = q.run_id AND l.facts = ${LEASE_LOST}) AS was_lost
FROM holdfast.queue q WHERE q.claim_id = $1 AND q.leased_by = $2`;

export interface TakenRow {
  readonly id: string;
  readonly run_id: string;
  readonly kind: JobKind;
  readonly key: string;
  readonly function_id: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly priority: number;
  readonly epoch: number;
  readonly until_ms: number;
  readonly due_ms: number;
  readonly was_lost: boolean;
  readonly unplaced_ms: number | null;
  /** Of a claim within limits that starts it. */
  readonly paced_lane?: string | null;
  readonly paced_by?: string | null;
}

export async function withRuns(
  query: Query,
  rows: readonly TakenRow[],
  hasRunOf?: ClaimRequest["hasRunOf"],
  everyMsOf: (functionId: string) => number = () => 0,
): Promise<ClaimedJob[]> {
  const alone = new Set(rows.filter((row) => comesAlone({ ...row, runId: row.run_id, lost: row.was_lost }, hasRunOf)));
  const runIds = rows.flatMap((row) => (row.run_id === "" || alone.has(row) ? [] : [row.run_id]));
  const runs = new Map((await loadRuns(query, runIds)).map((run) => [run.head.id, run]));
  return rows.flatMap((row) => {
    const run = (alone.has(row) ? null : runs.get(row.run_id)) ?? null;
    if (!run && row.run_id !== "" && !alone.has(row)) return [];
    return {
      id: row.id,
      runId: row.run_id,
      kind: row.kind,
      key: row.key,
      functionId: row.function_id,
      attempt: row.attempt,
      iteration: row.iteration,
      priority: row.priority,
      epoch: row.epoch,
      leaseUntilMs: row.until_ms,
      dueSinceMs: row.due_ms,
      unplacedMs: row.unplaced_ms,
      lost: row.was_lost,
      paced: pacedOf(row, everyMsOf),
      run,
    };
  });
}

function pacedOf(
  { function_id, paced_lane: lane, paced_by: throttle }: TakenRow,
  everyMsOf: (id: string) => number,
): Paced | null {
  return lane == null || throttle == null ? null : { lane, throttle, everyMs: everyMsOf(function_id) };
}
