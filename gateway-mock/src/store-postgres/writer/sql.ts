/** Statements of the writer: locks, reads of what a batch rests on, and what its write set becomes. */
import {
  type BatchAnswer,
  type CronTick,
  type EventWrite,
  eventKeyOf,
  type FlowRules,
  type LockedJob,
  type LockedRows,
  type LockedRun,
  type Needs,
  type NewJob,
  placesOf,
  type RunWrite,
  type WriteSet,
} from "@holdfast/store";
import { compactEvent } from "../connection/compact-events.ts";
import type { Statement } from "../connection/database.ts";
import { ConnectionLost } from "../connection/pg-errors.ts";
import {
  byLength,
  isAmong,
  jsonList,
  msOf,
  numberArray,
  ownTextsOf,
  rowsOf,
  textArray,
  textsOf,
  timeOf,
} from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

import { awaitedOf, readAwaited } from "./awaited.ts";
import { freeKeys, HOLD_KEYS, holdParams, type KeyRow, READ_EVENTS, READ_KEYS } from "./event-keys.ts";
import { lockFlowRules, writeFlowRules } from "./flow-rule-rows.ts";

import { insertGraphRuns } from "./graph-runs.ts";
import { outputLength, updateHeads } from "./heads.ts";
import { insertJobs } from "./jobs.ts";
import { factsOf, insertLog, type NewerRow, newerByRun, readNewer } from "./log.ts";

import { type LongWrite, NOTHING_SPLIT, splitByLength } from "./long-rows.ts";
import { insertOrigins } from "./origins.ts";
import { answering, together } from "./together.ts";
import { deleteWaits, insertWaits, lockSignals } from "./waits.ts";

/** Makes the row that `markStatement` changes; outside of batches, so that it is always there to be locked and read. */
export const ENTER_WRITER = `INSERT INTO holdfast.writers (id, batch, seen_at) VALUES ($1, 0, now())
ON CONFLICT (id) DO NOTHING`;

export const SET_MARK = "UPDATE holdfast.writers SET batch = $2::bigint, seen_at = now() WHERE id = $1";
export const MARK_COLUMNS = `${msOf("seen_at")} AS at_ms`;

/**
 * First statement of every batch: leaves the mark by which a commit of unknown fate is recognised, and looks which of
 * the batch's event names something waits for. A wait that was committed before an event was sent is always seen.
 */
const MARK = `${SET_MARK} RETURNING ${MARK_COLUMNS}, ${awaitedOf("$3::text[]")} AS awaited,
  (SELECT version FROM holdfast.registry WHERE one)::float8 AS registry`;

/** Waits for a transaction that still holds the mark, so its answer is final. */
export const READ_MARK = `SELECT batch::float8 AS batch, ${MARK_COLUMNS} FROM holdfast.writers WHERE id = $1 FOR UPDATE`;

export const JOBS_BY_ID = `SELECT id, run_id, epoch FROM holdfast.queue
WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`;
/**
 * Run by run and job by job, each a look into the index, also where the statement was planned while the queue was empty:
 * joined as sets, or with `= ANY`, the whole of it would be read for each batch from then on.
 */
export const jobsOf = (runIds: string, condition = ""): string => `SELECT j.id FROM unnest(${runIds}::text[]) AS r
  CROSS JOIN LATERAL (SELECT id FROM holdfast.queue WHERE run_id = r ${condition}OFFSET 0) j`;
/** Ids of jobs, and of all jobs of some runs, as a list. With OR, or joined, the whole queue may be read for them. */
export const JOBS_AND_THOSE_OF_RUNS = `ARRAY(SELECT unnest($1::text[]) UNION ALL ${jobsOf("$2")})`;
export const JOBS_BY_ID_AND_RUN = `SELECT q.id, q.run_id, q.epoch FROM (SELECT id FROM (
  SELECT unnest($1::text[]) AS id UNION ${jobsOf("$2")} UNION ${jobsOf("$3", "AND kind = 'pass' ")}) u ORDER BY id OFFSET 0) n
CROSS JOIN LATERAL (SELECT id, run_id, epoch FROM holdfast.queue WHERE id = n.id FOR UPDATE) q`;
export const LOCK_RUNS = `SELECT id, version, status FROM holdfast.runs WHERE ${isAmong("id", "$1::text[]")} ORDER BY id FOR UPDATE`;

/** What a look under locks found. */
export interface LockedBatch {
  readonly found: LockedRows;
  /** The transaction's time. */
  readonly atMs: number;
  readonly newer: NonNullable<BatchAnswer["newer"]>;
}

/**
 * The first half: sends all look-ups at once, in lock order (jobs by id, runs by id, keys, signals, flow rules), and
 * collects what they found. The log is looked into when the run is locked: nothing is added in between.
 */
export async function lockRows(query: Query, needs: Needs, mark: BatchMark): Promise<LockedBatch> {
  const { runIds, eventKeys, repeatedEvents, signals, additions } = needs;
  const log = readNewer(additions);
  const names = textArray(eventKeys.map((entry) => entry.name));
  const keys = textArray(eventKeys.map((entry) => entry.key));
  const answers = await Promise.all([
    query<MarkRow>(MARK, [mark.writerId, mark.batch, textArray(needs.eventNames)]),
    lockJobs(query, needs),
    runIds.length > 0 ? query<LockedRun>(LOCK_RUNS, [textArray(runIds)]) : [],
    additions.length > 0 ? query<NewerRow>(log.text, log.params) : [],
    eventKeys.length > 0 ? query(HOLD_KEYS, [names, keys, ...holdParams(eventKeys)]) : [],
    eventKeys.length > 0 ? query<KeyRow>(READ_KEYS, [names, keys]) : [],
    // After the keys: who stored one of these under a key has committed by then.
    repeatedEvents.length > 0 ? query<{ id: string }>(READ_EVENTS, [textArray(repeatedEvents)]) : [],
    signals.length > 0 ? lockSignals(query, signals) : [],
    needs.flowRules.length > 0 ? lockFlowRules(query, needs.flowRules) : NO_FLOW_RULES,
  ]);
  const [marks, jobs, runs, rows, , held, known, signalRows, flowRules] = answers;
  const atMs = timeOfMark(marks[0]);
  const found: LockedRows = {
    atMs,
    jobs: new Map(jobs.map((row) => [row.id, lockedJob(row)])),
    runs: new Map(runs.map((row) => [row.id, { ...row, version: Number(row.version) }])),
    eventKeys: new Map(held.map((row) => [eventKeyOf(row.name, row.key), row.event_id])),
    knownEvents: new Set(known.map(({ id }) => id)),
    awaited: readAwaited(marks[0]?.awaited),
    registryVersion: Number(marks[0]?.registry),
    signals: new Map(signalRows.map((row) => [row.name, { runId: row.run_id, key: row.key }])),
    flowRules,
    facts: factsOf(rows),
  };
  return { found, atMs, newer: newerByRun(rows.map((row) => [row.run_id, row.seq])) };
}

const NO_FLOW_RULES: FlowRules = new Map();

/** Names a batch in its transaction. */
export interface BatchMark {
  readonly writerId: string;
  readonly batch: number;
}

export type TimeOfMark = Pick<MarkRow, "at_ms">;
/** What a batch answers that found everything as it expected it. */
export type Marked = Pick<MarkRow, "at_ms" | "awaited">;

/** The time of the transaction that left the mark. */
export function timeOfMark(row: TimeOfMark | undefined): number {
  if (!row) throw new ConnectionLost("The writer's row is missing; the next connection creates it again");
  return Number(row.at_ms);
}

interface MarkRow {
  readonly at_ms: number;
  /** JSON. */
  readonly awaited: string;
  readonly registry: number;
}

interface JobRow {
  readonly id: string;
  readonly run_id: string;
  readonly epoch: number;
}

function lockJobs(query: Query, needs: Needs): Promise<JobRow[]> | JobRow[] {
  const { jobIds, jobsOfRuns, passesOfRuns } = needs;
  if (jobsOfRuns.length + passesOfRuns.length > 0) return query<JobRow>(JOBS_BY_ID_AND_RUN, jobParams(needs));
  return jobIds.length > 0 ? query<JobRow>(JOBS_BY_ID, [textArray(jobIds)]) : [];
}

/** Of `JOBS_BY_ID_AND_RUN`. */
export const jobParams = ({ jobIds, jobsOfRuns, passesOfRuns }: Needs): string[] =>
  [jobIds, jobsOfRuns, passesOfRuns].map(textArray);

const lockedJob = (row: JobRow): LockedJob => ({
  id: row.id,
  runId: row.run_id,
  epoch: Number(row.epoch),
});

/** In the order in which they are sent. */
export interface PlannedWrites {
  readonly first: readonly Statement[];
  readonly long: readonly LongWrite[];
  readonly second: readonly Statement[];
}

/**
 * The second half: what can be written at once, long rows of the log and of events, and what has to find all that done.
 * The first and the last are one statement each (`together`), if there is any.
 */
export function writesOf(writes: WriteSet): PlannedWrites {
  const { events, runs, logs, heads, removeJobs, removeJobsOfRuns, removeWaits, removeWaitsOfRuns } = writes;
  const isNew = jobsOfNewRows(writes);
  const [newJobs, moreJobs] = [writes.jobs.filter(isNew), writes.jobs.filter((job) => !isNew(job))];
  const first: Statement[] = [];
  const stored = splitByLength(events, ({ event }) => event.payloadJson.length, insertEvents);
  first.push(...stored.short);
  if (runs.length > 0) first.push(insertRuns(runs));
  const made = runs.filter(({ run }) => run.origin);
  if (made.length > 0) first.push(insertOrigins(made));
  const ofGraphs = runs.filter(({ run }) => run.graph);
  if (ofGraphs.length > 0) first.push(insertGraphRuns(ofGraphs));
  const log = logs.length > 0 ? insertLog(logs, placesOf(logs), runs) : NOTHING_SPLIT;
  first.push(...log.short);
  const changed = byLength(heads, outputLength);
  if (changed.short.length > 0) first.push(updateHeads(changed.short, { isLong: false, isExpected: false }));
  if (changed.long.length > 0) first.push(updateHeads(changed.long, { isLong: true, isExpected: false }));
  if (removeJobs.length + removeJobsOfRuns.length > 0) first.push(deleteJobs(removeJobs, removeJobsOfRuns));
  first.push(...deleteWaits(removeWaits, removeWaitsOfRuns));
  if (newJobs.length > 0) first.push(insertJobs(newJobs, true));
  const second: Statement[] = [];
  if (moreJobs.length > 0) second.push(insertJobs(moreJobs, false));
  if (writes.waits.length > 0) second.push(insertWaits(writes.waits));
  if (writes.flowRules.length > 0) second.push(writeFlowRules(writes.flowRules));
  if (writes.crons.length > 0) second.push(moveCrons(writes.crons));
  if (writes.links.length > 0) second.push(linkEvents(writes.links));
  if (writes.freeKeys.length > 0) second.push(freeKeys(writes.freeKeys));
  return { first, long: [...stored.long, ...log.long], second: together(second) };
}

/** With `log` it answers with what that answers; it has to be given where rows are written to the log. */
export const firstStatement = (first: readonly Statement[], log: Statement | null): Statement[] =>
  log ? [answering({ log }, first, "SELECT * FROM log")] : together(first);

/** Nothing else can have made a job of a run or an event that the batch makes; of one kind and key it has only one. */
function jobsOfNewRows({ runs, events, jobs }: WriteSet): (job: NewJob) => boolean {
  const ids = new Set(runs.map(({ run }) => run.id));
  const eventIds = new Set(events.map(({ event }) => event.id));
  const seen = new Set<string>();
  const repeats = new Set<NewJob>();
  for (const job of jobs) {
    const key = `${job.runId}\n${job.kind}\n${job.key}`;
    if (seen.has(key)) repeats.add(job);
    seen.add(key);
  }
  return (job) => (ids.has(job.runId) || (job.kind === "event" && eventIds.has(job.key))) && !repeats.has(job);
}

function insertEvents(rows: readonly EventWrite[], isLong: boolean): Statement {
  const payloads = rows.map(({ event }) => compactEvent(event.payloadJson, event));
  return {
    text: `INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
SELECT id, name, ${timeOf("ts")}, now(), run_ids, payload
FROM ${rowsOf({
      id: "$1::text[]",
      name: "$2::text[]",
      ts: "$3::float8[]",
      run_ids: "$4::text[]",
      payload: isLong ? ownTextsOf(5, rows.length) : textsOf("$5"),
    })}`,
    params: [
      textArray(rows.map(({ event }) => event.id)),
      textArray(rows.map(({ event }) => event.name)),
      numberArray(rows.map(({ event }) => event.tsMs)),
      textArray(rows.map(({ runIds }) => runIds.join(" "))),
      ...(isLong ? payloads : [jsonList(payloads)]),
    ],
  };
}

function insertRuns(rows: readonly RunWrite[]): Statement {
  return {
    text: `INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, deadline_at, created_at, started_at)
SELECT id, function_id, app_id, app_version, status, 1, event_id, event_name, ${timeOf("deadline")}, now(),
  CASE WHEN status = 'RUNNING' THEN now() END
FROM ${rowsOf({
      id: "$1::text[]",
      function_id: "$2::text[]",
      app_id: "$3::text[]",
      app_version: "$4::text[]",
      status: "$5::text[]",
      event_id: "$6::text[]",
      event_name: "$7::text[]",
      deadline: "$8::float8[]",
    })}`,
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

function deleteJobs(jobIds: readonly string[], runIds: readonly string[]): Statement {
  return {
    text: `DELETE FROM holdfast.queue WHERE id = ANY(${JOBS_AND_THOSE_OF_RUNS})`,
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

function linkEvents(links: WriteSet["links"]): Statement {
  const pairs = links.flatMap(({ eventIds, runId }) => eventIds.map((eventId) => [eventId, runId] as const));
  return {
    text: `UPDATE holdfast.events e SET run_ids = btrim(e.run_ids || ' ' || n.run_ids) FROM (
  SELECT event_id, string_agg(run_id, ' ') AS run_ids FROM unnest($1::text[], $2::text[]) AS p(event_id, run_id)
  GROUP BY event_id) n WHERE e.id = n.event_id`,
    params: [textArray(pairs.map(([eventId]) => eventId)), textArray(pairs.map(([, runId]) => runId))],
  };
}
