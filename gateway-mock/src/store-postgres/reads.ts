/** Statements for what people and probes read (`StoreReads`). They lock nothing and decide nothing. */
import { coalesced } from "@holdfast/core";
import type {
  EventDetail,
  EventFilter,
  EventKey,
  EventPage,
  GraphRunKey,
  JobView,
  QueueDepth,
  RunDetail,
  RunEnd,
  StoreReads,
} from "@holdfast/store";
import { wholeEvent } from "./connection/compact-events.ts";
import type { Database } from "./connection/database.ts";
import { isAmong, msOf, msSince, textArray } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";

import { holdsOf } from "./retention/holds.ts";
import { type HeadRow, headOf, shownHeadColumns } from "./rows.ts";
import { pageSize } from "./run-list.ts";
import { loadLogs } from "./run-loader.ts";
import { waitsOfRuns } from "./waits.ts";
import { EVENT_KEY_LIFETIME, READ_EVENTS } from "./writer/event-keys.ts";

/** What many ask at the same time shares statements. */
export const readsOfRuns = (database: Pick<Database, "query">): Pick<StoreReads, "getRun" | "endsOf"> => ({
  getRun: getRun(database),
  endsOf: endsOf(database),
});

const ENDS = { atOnce: 2, most: 1_000 };

/** Of few columns, by primary key. */
function endsOf({ query }: Pick<Database, "query">): StoreReads["endsOf"] {
  const one = coalesced<string, RunEnd | null>(ENDS, async (runIds) => {
    const rows = await query<{ id: string; function_id: string; ended: boolean }>(
      `SELECT id, function_id, ended_at IS NOT NULL AS ended FROM holdfast.runs WHERE ${isAmong("id", "$1::text[]")}`,
      [textArray([...new Set(runIds)].sort())],
    );
    const found = new Map(rows.map((row) => [row.id, { id: row.id, functionId: row.function_id, isEnded: row.ended }]));
    return runIds.map((id) => found.get(id) ?? null);
  });
  return async (runIds) => (await Promise.all(runIds.map(one))).filter((end) => end !== null);
}

interface JobRow {
  readonly run_id: string;
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

const DETAILS = { atOnce: 2, most: 50 };

/** Callers that wait for many runs, or many for one, are answered with few statements. */
function getRun({ query }: Pick<Database, "query">): StoreReads["getRun"] {
  return coalesced(DETAILS, async (runIds) => {
    const details = await detailsOf(query, [...new Set(runIds)].sort());
    return runIds.map((runId) => details.get(runId) ?? null);
  });
}

async function detailsOf(query: Query, asked: readonly string[]): Promise<Map<string, RunDetail>> {
  const rows = await query<HeadRow>(
    `SELECT ${shownHeadColumns()} FROM holdfast.runs r WHERE ${isAmong("r.id", "$1::text[]")}`,
    [textArray(asked)],
  );
  if (rows.length === 0) return new Map();
  const runIds = rows.map(({ id }) => id).sort();
  const logs = await loadLogs(query, rows);
  const jobs = await query<JobRow>(
    `SELECT run_id, id, kind, key, attempt, epoch, ${msOf("available_at")} AS available_ms, leased_by,
${msOf("claimed_at")} AS claimed_ms, epoch = 0 OR unplaced_since IS NOT NULL AS is_unplaced
FROM holdfast.queue WHERE run_id = ANY($1::text[]) ORDER BY available_at, id`,
    [textArray(runIds)],
  );
  const waits = await waitsOfRuns(query, runIds);
  const holds = await holdsOf(query, runIds);
  const details = rows.flatMap((row): [string, RunDetail][] => {
    const { id } = row;
    const log = logs.get(id);
    // It was removed between the two: each run has a log.
    if (!log) return [];
    const ofRun = jobs.filter((job) => job.run_id === id).map(jobOf);
    const hold = holds.get(id) ?? null;
    return [[id, { head: headOf(row), log, jobs: ofRun, waits: waits.filter(({ runId }) => runId === id), hold }]];
  });
  return new Map(details);
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

const detailOf = (row: EventRow): EventDetail => ({
  id: row.id,
  name: row.name,
  tsMs: row.ts_ms,
  receivedMs: row.received_ms,
  payloadJson: wholeEvent(row.payload, { id: row.id, name: row.name, tsMs: row.ts_ms }),
  runIds: row.run_ids === "" ? [] : row.run_ids.split(" "),
});

/** A page looks at so many events at most, so one by a rare name takes as long with a million events as with none. */
const LOOKED_AT = 20_000;
/** First at so many more than it may have: mostly what is wanted is among them. */
const LOOKED_AT_FIRST = 500;

const LIST_EVENTS = `WITH looked AS MATERIALIZED (
  SELECT id, name FROM holdfast.events WHERE ($2::text IS NULL OR id < $2) ORDER BY id DESC LIMIT $3
), found AS MATERIALIZED (
  SELECT id FROM looked WHERE ($4::text IS NULL OR name = $4) AND ($5::text IS NULL OR starts_with(name, $5))
    AND ($6::text IS NULL OR CASE WHEN $6 = '' THEN NOT starts_with(name, '@@') OR starts_with(name, '@@:')
      ELSE starts_with(name, '@@' || $6 || ':') END)
  ORDER BY id DESC LIMIT $1
)
SELECT ${EVENT_COLUMNS}, (SELECT CASE WHEN count(*) = $3 THEN min(looked.id) END FROM looked) AS last
FROM holdfast.events WHERE id = ANY (ARRAY(SELECT found.id FROM found))
UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, (SELECT CASE WHEN count(*) = $3 THEN min(looked.id) END FROM looked)
ORDER BY id DESC NULLS LAST`;

export async function listEvents(
  { query }: Pick<Database, "query">,
  { limit: asked, cursor, name, environment }: EventFilter,
): Promise<EventPage> {
  const limit = pageSize(asked);
  const isOpen = name === undefined && environment === undefined;
  const begin = name?.endsWith("*") ? name.slice(0, -1) : null;
  const rest = [begin === null ? (name ?? null) : null, begin, environment ?? null];
  for (const most of isOpen ? [limit + 1] : [limit + LOOKED_AT_FIRST, LOOKED_AT]) {
    const rows = await query<EventRow & { readonly last: string | null }>(LIST_EVENTS, [
      limit + 1,
      cursor ?? null,
      most,
      ...rest,
    ]);
    const found = rows.slice(0, -1).map(detailOf);
    const events = found.slice(0, limit);
    if (found.length > limit) return { events, nextCursor: events.at(-1)?.id ?? null };
    // Null: there are no more than were looked at.
    const last = rows.at(-1)?.last ?? null;
    if (isOpen || last === null || most === LOOKED_AT) return { events, nextCursor: isOpen ? null : last };
  }
  return { events: [], nextCursor: null };
}

export async function getEvent(database: Database, eventId: string): Promise<EventDetail | null> {
  const [row] = await database.query<EventRow>(`SELECT ${EVENT_COLUMNS} FROM holdfast.events WHERE id = $1`, [eventId]);
  return row ? detailOf(row) : null;
}

/** Of many ids in one statement. */
export async function storedEvents(query: Query, eventIds: readonly string[]): Promise<string[]> {
  if (eventIds.length === 0) return [];
  const rows = await query<{ id: string }>(READ_EVENTS, [textArray(eventIds)]);
  return rows.map(({ id }) => id);
}

/** Key by key, each a look into the index, however many there are by now (docs/decisions/0177). */
const OF_KEYS = `SELECT k.event_id FROM unnest($1::text[], $2::text[]) AS n(name, key) CROSS JOIN LATERAL (
  SELECT event_id, received_at FROM holdfast.event_keys WHERE name = n.name AND key = n.key OFFSET 0) k
WHERE k.received_at >= now() - interval '${EVENT_KEY_LIFETIME}'`;
/** Looks up one key for each graph of the environment. */
const OF_GRAPHS = `SELECT k.event_id FROM holdfast.graphs g CROSS JOIN LATERAL (
  SELECT event_id, received_at FROM holdfast.event_keys WHERE name = $3 AND key = g.uid || chr(10) || $4 OFFSET 0) k
WHERE g.environment = $5 AND k.received_at >= now() - interval '${EVENT_KEY_LIFETIME}'`;

export async function eventsOfKeys(
  { query }: Pick<Database, "query">,
  keys: readonly EventKey[],
  ofGraphs?: GraphRunKey,
): Promise<string[]> {
  if (keys.length === 0 && ofGraphs === undefined) return [];
  const given = [textArray(keys.map(({ name }) => name)), textArray(keys.map(({ key }) => key))];
  const rows = ofGraphs
    ? await query<{ event_id: string }>(`${OF_KEYS} UNION ${OF_GRAPHS} ORDER BY event_id`, [
        ...given,
        ...[ofGraphs.name, ofGraphs.key, ofGraphs.environment],
      ])
    : await query<{ event_id: string }>(`${OF_KEYS} GROUP BY event_id ORDER BY event_id`, given);
  return rows.map(({ event_id: id }) => id);
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
${msSince("min(available_at) FILTER (WHERE available_at <= now())")} AS "oldestDueMs",
count(DISTINCT (function_id, lane)) FILTER (WHERE lane <> '')::float8 AS lanes,
count(*) FILTER (WHERE lane <> '' AND available_at <= now())::float8 AS "dueInLanes"
FROM holdfast.queue`,
  );
  return row ?? { due: 0, leased: 0, later: 0, oldestDueMs: null, lanes: 0, dueInLanes: 0 };
}
