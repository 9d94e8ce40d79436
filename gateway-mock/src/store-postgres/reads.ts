/** Statements for what people and probes read (`StoreReads`). They lock nothing and decide nothing. */
import { unreachable } from "@holdfast/core";
import {
  DEFAULT_ENVIRONMENT,
  type EventDetail,
  type EventPage,
  type EventView,
  type JobView,
  type QueueDepth,
  qualify,
  type RunDetail,
  type RunFilter,
  type RunPage,
  type RunStatus,
} from "@holdfast/store";
import type { Database, Param, Query } from "./connection/database.ts";
import { msOf, textArray } from "./connection/pg-values.ts";

import { holdOf } from "./retention/holds.ts";
import { type HeadRow, headColumns, headOf, IS_LEASED, SHOWN_STATUS } from "./rows.ts";
import { loadLogs } from "./run-loader.ts";
import { waitsOfRuns } from "./waits.ts";

const MAX_PAGE = 1000;
const pageSize = (limit: number): number => Math.min(Math.max(Math.trunc(limit), 1), MAX_PAGE);

/**
 * Runs of one shown status. Live ones are found through the queue, those that ended badly through their log: both are
 * few. No index is on `runs.status`: it would make every change of a run write to all its indexes.
 */
function statusCondition(status: RunStatus): string {
  const live = "r.id IN (SELECT run_id FROM holdfast.queue)";
  switch (status) {
    case "PENDING":
    case "WAITING":
      return `${live} AND r.status = '${status}' AND NOT ${IS_LEASED}`;
    case "RUNNING":
      return `${live} AND (r.status = 'RUNNING' OR (r.status IN ('PENDING', 'WAITING') AND ${IS_LEASED}))`;
    case "COMPLETED":
      return "r.status = 'COMPLETED'";
    case "FAILED":
    case "CANCELLED":
      return `r.id IN (SELECT run_id FROM holdfast.run_log WHERE status = '${status}') AND r.status = '${status}'`;
    default:
      return unreachable(status);
  }
}

const OF_DEFAULT = "(r.function_id NOT LIKE '@@%' OR r.function_id LIKE '@@:%')";
const ofNamed = (p: string): string => `r.function_id LIKE '@@%' AND split_part(r.function_id, ':', 1) = ${p}`;

export async function listRuns(database: Database, filter: RunFilter): Promise<RunPage> {
  const limit = pageSize(filter.limit);
  const params: Param[] = [limit + 1];
  const where: string[] = [];
  const add = (condition: (parameter: string) => string, value: string | undefined): void => {
    if (value === undefined) return;
    params.push(value);
    where.push(condition(`$${params.length}`));
  };
  if (filter.environment === DEFAULT_ENVIRONMENT) where.push(OF_DEFAULT);
  else add(ofNamed, filter.environment === undefined ? undefined : qualify(filter.environment, "").slice(0, -1));
  add((p) => `r.function_id = ${p}`, filter.functionId);
  add((p) => `r.id < ${p}`, filter.cursor);
  add(
    (p) => `r.id IN (SELECT unnest(string_to_array(run_ids, ' ')) FROM holdfast.events WHERE id = ${p})`,
    filter.eventId,
  );
  if (filter.status) where.push(statusCondition(filter.status));
  const condition = where.length > 0 ? `WHERE ${where.join(" AND ")}` : "";
  const rows = await database.query<HeadRow>(
    `SELECT ${headColumns(SHOWN_STATUS)} FROM holdfast.runs r ${condition} ORDER BY r.id DESC LIMIT $1`,
    params,
  );
  const runs = rows.slice(0, limit).map(headOf);
  return { runs, nextCursor: rows.length > limit ? (runs.at(-1)?.id ?? null) : null };
}

interface JobRow {
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  readonly attempt: number;
  readonly epoch: number;
  readonly available_ms: number;
  readonly leased_by: string | null;
  readonly claimed_ms: number | null;
  readonly is_unplaced: boolean;
}

export async function getRun(database: Database, runId: string): Promise<RunDetail | null> {
  const { query } = database;
  const [row] = await query<HeadRow>(`SELECT ${headColumns(SHOWN_STATUS)} FROM holdfast.runs r WHERE r.id = $1`, [
    runId,
  ]);
  if (!row) return null;
  const logs = await loadLogs(query, textArray([runId]));
  // It was removed between the two: each run has a log.
  const log = logs.get(runId);
  if (!log) return null;
  const jobs = await query<JobRow>(
    `SELECT id, kind, key, attempt, epoch, ${msOf("available_at")} AS available_ms, leased_by, ${msOf("claimed_at")} AS claimed_ms,
epoch = 0 OR unplaced_since IS NOT NULL AS is_unplaced
FROM holdfast.queue WHERE run_id = $1 ORDER BY available_at, id`,
    [runId],
  );
  const waits = await waitsOfRuns(query, [runId]);
  const hold = await holdOf(query, runId);
  return { head: headOf(row), log, jobs: jobs.map(jobOf), waits, hold };
}

const jobOf = (row: JobRow): JobView => ({
  id: row.id,
  kind: row.kind,
  key: row.key,
  attempt: row.attempt,
  epoch: row.epoch,
  availableMs: row.available_ms,
  leasedBy: row.leased_by,
  claimedMs: row.claimed_ms,
  isUnplaced: row.is_unplaced,
});

interface EventRow {
  readonly id: string;
  readonly name: string;
  readonly ts_ms: number;
  readonly received_ms: number;
  readonly payload: string;
  readonly run_ids: string;
}

const EVENT_COLUMNS = `id, name, ${msOf("ts")} AS ts_ms, ${msOf("received_at")} AS received_ms, payload, run_ids`;

const eventOf = (row: EventRow): EventView => ({
  id: row.id,
  name: row.name,
  tsMs: row.ts_ms,
  receivedMs: row.received_ms,
  payloadJson: row.payload,
});

export async function listEvents(
  database: Database,
  filter: { readonly limit: number; readonly cursor?: string; readonly name?: string },
): Promise<EventPage> {
  const limit = pageSize(filter.limit);
  const rows = await database.query<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM holdfast.events
WHERE ($2::text IS NULL OR id < $2) AND ($3::text IS NULL OR name = $3) ORDER BY id DESC LIMIT $1`,
    [limit + 1, filter.cursor ?? null, filter.name ?? null],
  );
  const events = rows.slice(0, limit).map(eventOf);
  return { events, nextCursor: rows.length > limit ? (events.at(-1)?.id ?? null) : null };
}

export async function getEvent(database: Database, eventId: string): Promise<EventDetail | null> {
  const [row] = await database.query<EventRow>(`SELECT ${EVENT_COLUMNS} FROM holdfast.events WHERE id = $1`, [eventId]);
  return row ? { ...eventOf(row), runIds: row.run_ids === "" ? [] : row.run_ids.split(" ") } : null;
}

/** A count that takes no longer is made each time. */
const QUICK_COUNT_MS = 100;
/** Counting takes at most this share of the time, however often it is asked for. */
const COUNT_SHARE = 1 / 20;

/** Counts all jobs, so of a long queue the last count stands for a while. */
export function queueDepthOf({
  query,
  options: { monotonicMs },
}: {
  readonly query: Query;
  readonly options: Pick<Database["options"], "monotonicMs">;
}): () => Promise<QueueDepth> {
  let last: { readonly depth: QueueDepth; readonly untilMs: number } | null = null;
  return async () => {
    const startedMs = monotonicMs();
    if (last && startedMs < last.untilMs) return last.depth;
    const depth = await countJobs(query);
    const endedMs = monotonicMs();
    const tookMs = endedMs - startedMs;
    last = { depth, untilMs: tookMs <= QUICK_COUNT_MS ? endedMs : endedMs + tookMs / COUNT_SHARE };
    return depth;
  };
}

async function countJobs(query: Query): Promise<QueueDepth> {
  const [row] = await query<QueueDepth>(
    `SELECT count(*) FILTER (WHERE available_at <= now())::float8 AS due,
count(*) FILTER (WHERE available_at > now() AND leased_by IS NOT NULL)::float8 AS leased,
count(*) FILTER (WHERE available_at > now() AND leased_by IS NULL)::float8 AS later,
extract(epoch FROM now() - min(available_at) FILTER (WHERE available_at <= now()))::float8 * 1000 AS "oldestDueMs"
FROM holdfast.queue`,
  );
  return row ?? { due: 0, leased: 0, later: 0, oldestDueMs: null };
}
