/**
 * Columns of run heads and log rows, and how a row becomes a value of the port; shared by reads, claims and the writer.
 */
import type { RunHead, RunStatus, StoredLogRow } from "@holdfast/store";
import type { LogContext } from "./connection/compact-facts.ts";
import { readFacts } from "./connection/log-rows.ts";
import { msOf } from "./connection/pg-values.ts";

/** Rows as the driver gives them, and what the port makes of them. */

export interface HeadRow {
  readonly id: string;
  readonly function_id: string;
  readonly app_id: string;
  readonly app_version: string;
  readonly status: RunStatus;
  readonly version: number;
  readonly event_id: string;
  readonly event_name: string;
  readonly deadline_ms: number | null;
  readonly output: string | null;
  readonly error: string | null;
  readonly created_ms: number;
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
}

const LEASED = `FROM holdfast.queue j WHERE j.run_id = r.id AND j.kind <> 'timer'
  AND j.leased_by IS NOT NULL AND j.available_at > now()`;

/** A pass or a step of the run is leased right now. */
export const IS_LEASED = `EXISTS (SELECT ${LEASED})`;
/** The status that people see. */
export const SHOWN_STATUS = `CASE WHEN r.status IN ('PENDING', 'WAITING') AND ${IS_LEASED} THEN 'RUNNING' ELSE r.status END`;

/** A run that a worker has begun says so with the first commit; until then its jobs say since when it is shown as running. */
const SHOWN_START = `CASE WHEN r.started_at IS NULL AND r.status = 'PENDING' THEN (SELECT min(j.claimed_at) ${LEASED} AND j.kind IN ('pass', 'step')) ELSE r.started_at END`;

/** @param texts the SQL for result and error; default: all of both */
export const shownHeadColumns = (texts?: string): string => headColumns(SHOWN_STATUS, SHOWN_START, texts);

/** Columns of table `r`; the parameters are the SQL for the status, for the start, and for result and error. */
export const headColumns = (
  status = "r.status",
  started = "r.started_at",
  texts = "r.output, r.error",
): string => `r.id, r.function_id, r.app_id, r.app_version, ${status} AS status,
  r.version, r.event_id, r.event_name, ${msOf("r.deadline_at")} AS deadline_ms, ${texts},
  ${msOf("r.created_at")} AS created_ms, ${msOf(started)} AS started_ms, ${msOf("r.ended_at")} AS ended_ms`;

export function headOf(row: HeadRow): RunHead {
  return {
    id: row.id,
    functionId: row.function_id,
    appId: row.app_id,
    appVersion: row.app_version,
    status: row.status,
    version: row.version,
    eventId: row.event_id,
    eventName: row.event_name,
    deadlineMs: row.deadline_ms,
    outputJson: row.output,
    errorJson: row.error,
    createdMs: row.created_ms,
    startedMs: row.started_ms,
    endedMs: row.ended_ms,
  };
}

export interface LogDbRow {
  readonly run_id: string;
  readonly seq: number;
  readonly at_ms: number;
  readonly version: number | null;
  readonly status: RunStatus | null;
  readonly facts: string;
  readonly data: string;
}

export const LOG_COLUMNS = `run_id, seq::float8 AS seq, ${msOf("at")} AS at_ms, version, status, facts, data`;

export function factsOfRow(row: LogDbRow, context: LogContext): StoredLogRow[] {
  const { seq, at_ms: atMs, version, status, facts, data } = row;
  return readFacts(facts, data, context).map(({ kind, key, attempt, iteration, dataJson }) => {
    return { seq, atMs, kind, key, attempt, iteration, dataJson, headVersion: version, headStatus: status };
  });
}
