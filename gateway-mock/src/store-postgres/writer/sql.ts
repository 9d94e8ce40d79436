/** Statements of the writer: locks, reads of what a batch rests on, and what its write set becomes. */
import {
  type CronTick,
  type EventWrite,
  eventKeyOf,
  type FlowRules,
  type HeadWrite,
  type LockedJob,
  type LockedRows,
  type LockedRun,
  type LogKind,
  type LogWrite,
  type Needs,
  type RowOfRun,
  type RunWrite,
  rowKeyOf,
  type WriteSet,
} from "@holdfast/store";
import type { Query, Statement } from "../connection/database.ts";
import { ConnectionLost } from "../connection/pg-errors.ts";
import { booleanArray, jsonList, msOf, numberArray, textArray, textsOf, timeOf } from "../connection/pg-values.ts";

import { lockFlowRules, writeFlowRules } from "./flow-rule-rows.ts";

import { insertJobs } from "./jobs.ts";

import { deleteWaits, insertWaits, lockSignals } from "./waits.ts";

export const EVENT_KEY_LIFETIME = "24 hours";

/** Makes the row that `markStatement` changes; outside of batches, so that it is always there to be locked and read. */
export const ENTER_WRITER = `INSERT INTO holdfast.writers (id, batch, xid, seen_at) VALUES ($1, 0, '0', now())
ON CONFLICT (id) DO NOTHING`;

export const SET_MARK =
  "UPDATE holdfast.writers SET batch = $2::bigint, xid = pg_current_xact_id()::text, seen_at = now() WHERE id = $1";
export const MARK_COLUMNS = `xid, ${msOf("seen_at")} AS at_ms`;

/**
 * First statement of every batch: leaves the mark by which a commit of unknown fate is recognised, and looks which of
 * the batch's event names something waits for. A wait that was committed before an event was sent is always seen.
 */
const MARK = `${SET_MARK} RETURNING ${MARK_COLUMNS}, array_to_json(ARRAY(SELECT n FROM unnest($3::text[]) n WHERE EXISTS (
  SELECT FROM holdfast.waits w WHERE w.name = n AND w.kind IN ('event', 'cancel'))))::text AS awaited,
  (SELECT version FROM holdfast.registry WHERE one)::float8 AS registry`;

/** Waits for a transaction that still holds the mark, so its answer is final. */
export const READ_MARK = `SELECT batch::float8 AS batch, ${MARK_COLUMNS} FROM holdfast.writers WHERE id = $1 FOR UPDATE`;

export const JOBS_BY_ID = `SELECT id, run_id, epoch FROM holdfast.queue
WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`;
export const JOBS_BY_ID_AND_RUN = `SELECT id, run_id, epoch FROM holdfast.queue
WHERE id IN (SELECT unnest($1::text[]) UNION SELECT id FROM holdfast.queue WHERE run_id = ANY($2::text[]))
ORDER BY id FOR UPDATE`;
export const LOCK_RUNS = `SELECT id, version, status FROM holdfast.runs WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`;
const HOLD_KEYS = `INSERT INTO holdfast.event_keys AS k (name, key, event_id, received_at)
SELECT name, key, event_id, now() FROM unnest($1::text[], $2::text[], $3::text[]) AS n(name, key, event_id)
ON CONFLICT (name, key) DO UPDATE SET event_id = excluded.event_id, received_at = excluded.received_at
WHERE k.received_at < now() - interval '${EVENT_KEY_LIFETIME}'`;
const READ_KEYS = `SELECT name, key, event_id FROM holdfast.event_keys
WHERE (name, key) IN (SELECT * FROM unnest($1::text[], $2::text[]))`;
const THERE_ALREADY = `SELECT run_id, key, kind, attempt, iteration FROM holdfast.run_log
JOIN unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) AS n(run_id, key, kind, attempt, iteration)
  USING (run_id, key, kind, attempt, iteration)`;

/**
 * The first half: sends all look-ups at once, in lock order (jobs by id, runs by id, keys, signals, flow rules), and
 * collects what they found. Rows are looked for when the run is locked: none are added in between.
 */
export async function lockRows(
  query: Query,
  needs: Needs,
  mark: BatchMark,
): Promise<{ readonly found: LockedRows; readonly written: Written }> {
  const { jobIds, jobsOfRuns, runIds, eventKeys, signals } = needs;
  const names = textArray(eventKeys.map((entry) => entry.name));
  const keys = textArray(eventKeys.map((entry) => entry.key));
  const answers = await Promise.all([
    query<MarkRow>(MARK, [mark.writerId, mark.batch, textArray(needs.eventNames)]),
    lockJobs(query, jobIds, jobsOfRuns),
    runIds.length > 0 ? query<LockedRun>(LOCK_RUNS, [textArray(runIds)]) : [],
    needs.rows.length > 0 ? query<StoredRowKey>(THERE_ALREADY, keyParams(needs.rows)) : [],
    eventKeys.length > 0 ? query(HOLD_KEYS, [names, keys, textArray(eventKeys.map((entry) => entry.eventId))]) : [],
    eventKeys.length > 0 ? query<KeyRow>(READ_KEYS, [names, keys]) : [],
    signals.length > 0 ? lockSignals(query, signals) : [],
    needs.flowRules.length > 0 ? lockFlowRules(query, needs.flowRules) : NO_FLOW_RULES,
  ]);
  const [marks, jobs, runs, rows, , held, signalRows, flowRules] = answers;
  const written = writtenOf(marks[0]);
  const found: LockedRows = {
    atMs: written.atMs,
    jobs: new Map(jobs.map((row) => [row.id, lockedJob(row)])),
    runs: new Map(runs.map((row) => [row.id, { ...row, version: Number(row.version) }])),
    eventKeys: new Map(held.map((row) => [eventKeyOf(row.name, row.key), row.event_id])),
    awaited: new Set(JSON.parse(marks[0]?.awaited ?? "[]") as string[]),
    registryVersion: Number(marks[0]?.registry),
    signals: new Map(signalRows.map((row) => [row.name, { runId: row.run_id, key: row.key }])),
    flowRules,
    rows: rowKeysOf(rows),
  };
  return { found, written };
}

const NO_FLOW_RULES: FlowRules = new Map();

/** Names a batch in its transaction. */
export interface BatchMark {
  readonly writerId: string;
  readonly batch: number;
}

/** What identifies a batch's rows, once it is committed. */
export interface Written {
  readonly xid: string;
  /** The transaction's time. */
  readonly atMs: number;
}

export type WrittenRow = Pick<MarkRow, "xid" | "at_ms">;

export function writtenOf(row: WrittenRow | undefined): Written {
  if (!row) throw new ConnectionLost("The writer's row is missing; the next connection creates it again");
  return { xid: row.xid, atMs: Number(row.at_ms) };
}

interface MarkRow {
  readonly xid: string;
  readonly at_ms: number;
  /** JSON. */
  readonly awaited: string;
  readonly registry: number;
}

interface KeyRow {
  readonly name: string;
  readonly key: string;
  readonly event_id: string;
}

interface JobRow {
  readonly id: string;
  readonly run_id: string;
  readonly epoch: number;
}

function lockJobs(query: Query, jobIds: string[], jobsOfRuns: string[]): Promise<JobRow[]> | JobRow[] {
  if (jobsOfRuns.length > 0) return query<JobRow>(JOBS_BY_ID_AND_RUN, [textArray(jobIds), textArray(jobsOfRuns)]);
  return jobIds.length > 0 ? query<JobRow>(JOBS_BY_ID, [textArray(jobIds)]) : [];
}

const lockedJob = (row: JobRow): LockedJob => ({
  id: row.id,
  runId: row.run_id,
  epoch: Number(row.epoch),
});

/** The second half, in an order in which every statement finds what it needs. At most thirteen, whatever the size. */
export function writeStatements(writes: WriteSet): { readonly statements: Statement[]; readonly logIndex: number } {
  const statements: Statement[] = [];
  if (writes.events.length > 0) statements.push(insertEvents(writes.events));
  if (writes.runs.length > 0) statements.push(insertRuns(writes.runs));
  const logIndex = writes.logs.length > 0 ? statements.push(insertLog(writes.logs)) - 1 : -1;
  if (writes.heads.length > 0) statements.push(updateHeads(writes.heads));
  if (writes.removeJobs.length > 0 || writes.removeJobsOfRuns.length > 0) {
    statements.push(deleteJobs(writes.removeJobs, writes.removeJobsOfRuns));
  }
  if (writes.jobs.length > 0) statements.push(insertJobs(writes.jobs));
  if (writes.removeWaits.length > 0 || writes.removeWaitsOfRuns.length > 0) {
    statements.push(deleteWaits(writes.removeWaits, writes.removeWaitsOfRuns));
  }
  if (writes.waits.length > 0) statements.push(insertWaits(writes.waits));
  if (writes.flowRules.length > 0) statements.push(writeFlowRules(writes.flowRules));
  if (writes.crons.length > 0) statements.push(moveCrons(writes.crons));
  if (writes.links.length > 0) statements.push(linkEvents(writes.links));
  if (writes.freeKeys.length > 0) statements.push(freeKeys(writes.freeKeys));
  return { statements, logIndex };
}

function insertEvents(rows: readonly EventWrite[]): Statement {
  return {
    text: `INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
SELECT id, name, ${timeOf("ts")}, now(), run_ids, payload
FROM unnest($1::text[], $2::text[], $3::float8[], $4::text[], ${textsOf("$5")}) AS n(id, name, ts, run_ids, payload)`,
    params: [
      textArray(rows.map(({ event }) => event.id)),
      textArray(rows.map(({ event }) => event.name)),
      numberArray(rows.map(({ event }) => event.tsMs)),
      textArray(rows.map(({ runIds }) => runIds.join(" "))),
      jsonList(rows.map(({ event }) => event.payloadJson)),
    ],
  };
}

function insertRuns(rows: readonly RunWrite[]): Statement {
  return {
    text: `INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, deadline_at, created_at, started_at)
SELECT id, function_id, app_id, app_version, status, 1, event_id, event_name, ${timeOf("deadline")}, now(),
  CASE WHEN status = 'RUNNING' THEN now() END
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[])
  AS n(id, function_id, app_id, app_version, status, event_id, event_name, deadline)`,
    params: [
      textArray(rows.map(({ run }) => run.id)),
      textArray(rows.map(({ run }) => run.functionId)),
      textArray(rows.map(({ run }) => run.appId)),
      textArray(rows.map(({ run }) => run.appVersion)),
      textArray(rows.map(({ status }) => status)),
      textArray(rows.map(({ run }) => run.eventId)),
      textArray(rows.map(({ run }) => run.eventName)),
      numberArray(rows.map(({ run }) => run.deadlineMs ?? null)),
    ],
  };
}

/** Answers with one row, `inserted`: how many were new. Which ones is asked only when some were not. */
function insertLog(rows: readonly LogWrite[]): Statement {
  return {
    text: `WITH new AS (
  INSERT INTO holdfast.run_log (run_id, key, kind, attempt, iteration, version, status, data, at)
  SELECT run_id, key, kind, attempt, iteration, version, status, data, now()
  FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[], $6::int[], $7::text[], ${textsOf("$8")})
    AS n(run_id, key, kind, attempt, iteration, version, status, data)
  ON CONFLICT DO NOTHING RETURNING 1
) SELECT count(*)::int AS inserted FROM new`,
    params: [
      ...keyParams(rows),
      numberArray(rows.map((write) => write.version)),
      textArray(rows.map((write) => write.status)),
      jsonList(rows.map((write) => write.row.dataJson)),
    ],
  };
}

export interface StoredRowKey {
  readonly run_id: string;
  readonly key: string;
  readonly kind: LogKind;
  readonly attempt: number;
  readonly iteration: number;
}

export function rowKeysOf(rows: readonly StoredRowKey[]): ReadonlySet<string> {
  return new Set(rows.map(({ run_id: runId, ...row }) => rowKeyOf({ runId, row })));
}

function keyParams(rows: readonly RowOfRun[]): string[] {
  return [
    textArray(rows.map(({ runId }) => runId)),
    textArray(rows.map(({ row }) => row.key)),
    textArray(rows.map(({ row }) => row.kind)),
    numberArray(rows.map(({ row }) => row.attempt)),
    numberArray(rows.map(({ row }) => row.iteration)),
  ];
}

/** Which of these rows transaction `xid` wrote. Also right long after: a row keeps the number of its writer. */
export function whichInserted(rows: readonly LogWrite[], xid: string): Statement {
  return {
    text: `SELECT l.run_id, l.key, l.kind, l.attempt, l.iteration FROM holdfast.run_log l
JOIN unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) AS n(run_id, key, kind, attempt, iteration)
  USING (run_id, key, kind, attempt, iteration)
WHERE l.xmin::text::bigint = $6::bigint % 4294967296`,
    params: [...keyParams(rows), xid],
  };
}

/** Deadlines hardly ever change: without any the statement has no word of them. */
function updateHeads(rows: readonly HeadWrite[]): Statement {
  const deadlines = rows.some(({ deadlineMs }) => deadlineMs !== undefined);
  return {
    text: `UPDATE holdfast.runs r SET version = n.version, status = n.status,
  started_at = CASE WHEN n.status = 'PENDING' THEN r.started_at
    ELSE COALESCE(r.started_at, (SELECT q.claimed_at FROM holdfast.queue q WHERE q.id = n.job), now()) END,
  ended_at = CASE WHEN n.ended THEN now() END,
  output = n.output, error = n.error,
  app_version = COALESCE(n.app_version, r.app_version)${
    deadlines
      ? `,
  deadline_at = CASE WHEN n.moved THEN ${timeOf("n.deadline")} ELSE r.deadline_at END`
      : ""
  }
FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::bool[], ${textsOf("$6")}, ${textsOf("$7")}, $8::text[]${deadlines ? ", $9::bool[], $10::float8[]" : ""})
  AS n(id, version, status, job, ended, output, error, app_version${deadlines ? ", moved, deadline" : ""})
WHERE r.id = n.id`,
    params: [
      textArray(rows.map((row) => row.runId)),
      numberArray(rows.map((row) => row.version)),
      textArray(rows.map((row) => row.status)),
      textArray(rows.map((row) => row.jobId)),
      booleanArray(rows.map((row) => row.ended)),
      jsonList(rows.map((row) => row.output)),
      jsonList(rows.map((row) => row.error)),
      textArray(rows.map((row) => row.appVersion)),
      ...(deadlines ? deadlineParams(rows) : []),
    ],
  };
}

const deadlineParams = (rows: readonly HeadWrite[]): string[] => [
  booleanArray(rows.map(({ deadlineMs }) => deadlineMs !== undefined)),
  numberArray(rows.map(({ deadlineMs }) => deadlineMs ?? null)),
];

function deleteJobs(jobIds: readonly string[], runIds: readonly string[]): Statement {
  if (runIds.length === 0) {
    return { text: "DELETE FROM holdfast.queue WHERE id = ANY($1::text[])", params: [textArray(jobIds)] };
  }
  return {
    text: "DELETE FROM holdfast.queue WHERE id = ANY($1::text[]) OR run_id = ANY($2::text[])",
    params: [textArray(jobIds), textArray(runIds)],
  };
}

function moveCrons(ticks: readonly CronTick[]): Statement {
  return {
    text: `UPDATE holdfast.crons c SET next_at = ${timeOf("n.next")} FROM unnest($1::text[], $2::text[], $3::float8[])
  AS n(function_id, cron, next) WHERE c.function_id = n.function_id AND c.cron = n.cron AND n.next IS NOT NULL`,
    params: [
      textArray(ticks.map((tick) => tick.functionId)),
      textArray(ticks.map((tick) => tick.cron)),
      numberArray(ticks.map((tick) => tick.next?.tickMs ?? null)),
    ],
  };
}

function freeKeys(keys: WriteSet["freeKeys"]): Statement {
  return {
    text: `DELETE FROM holdfast.event_keys WHERE (name, key, event_id) IN (
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`,
    params: [
      textArray(keys.map(({ name }) => name)),
      textArray(keys.map(({ key }) => key)),
      textArray(keys.map(({ eventId }) => eventId)),
    ],
  };
}

function linkEvents(links: WriteSet["links"]): Statement {
  const pairs = links.flatMap(({ eventIds, runId }) => eventIds.map((eventId) => [eventId, runId] as const));
  return {
    text: `UPDATE holdfast.events e SET run_ids = btrim(e.run_ids || ' ' || n.run_ids) FROM (
  SELECT event_id, string_agg(run_id, ' ') AS run_ids FROM unnest($1::text[], $2::text[]) AS p(event_id, run_id)
  GROUP BY event_id) n WHERE e.id = n.event_id`,
    params: [textArray(pairs.map(([eventId]) => eventId)), textArray(pairs.map(([, runId]) => runId))],
  };
}
