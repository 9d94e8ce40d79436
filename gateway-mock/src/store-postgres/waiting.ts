/** Statements behind the reasons of open runs (`WaitingReads`). They lock nothing, and read few rows of each table. */
import {
  DEADLINE,
  FINISH_TIMEOUT,
  MAX_AHEAD,
  MAX_WAITING_FACT,
  type OpenJob,
  type OpenRun,
  type PlacesAsked,
  type PlacesTaken,
  type QueuePlace,
  type StoredWait,
  type UnmovedPage,
  WAITING_KINDS,
  type WaitingFact,
} from "@holdfast/store";
import { lineBegins, readFacts } from "./connection/log-rows.ts";
import { isAmong, msOf, textArray } from "./connection/pg-values.ts";
import type { Param, Query } from "./connection/query.ts";
import { prioritiesOf } from "./queue/priorities.ts";
import { type HeadRow, headColumns, headOf } from "./rows.ts";
import { waitsOfRuns } from "./waits.ts";

interface OpenJobRow {
  readonly run_id: string;
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly epoch: number;
  readonly priority: number;
  readonly available_ms: number;
  readonly leased_by: string | null;
  readonly claimed_ms: number | null;
  readonly is_unplaced: boolean;
  readonly slot_a: string | null;
  readonly slot_b: string | null;
  readonly throttle: string | null;
  readonly wanted_version: string | null;
}

const HEADS = `SELECT ${headColumns()} FROM holdfast.runs r
WHERE ${isAmong("r.id", "$1::text[]")} AND r.ended_at IS NULL ORDER BY r.id`;

const JOBS = `SELECT run_id, id, kind, key, attempt, iteration, epoch, priority, ${msOf("available_at")} AS available_ms,
  leased_by, ${msOf("claimed_at")} AS claimed_ms, epoch = 0 OR unplaced_since IS NOT NULL AS is_unplaced,
  slot_a, slot_b, throttle, wanted_version
FROM holdfast.queue WHERE run_id = ANY($1::text[]) ORDER BY available_at, id`;

interface FactRow {
  readonly run_id: string;
  readonly seq: number;
  readonly at_ms: number;
  readonly line: string;
  readonly data: string;
}

const WAITING_LINES = WAITING_KINDS.flatMap(lineBegins).join("|");

/** Rows without such a fact are recognised by their names, so that what is large in them is not read. */
const FACTS = `SELECT l.run_id, l.seq::float8 AS seq, ${msOf("l.at")} AS at_ms, f.line,
  CASE WHEN f.line ~ '^(${lineBegins("RUN_CREATED").join("|")}) ' THEN
    CASE WHEN strpos(w.data, ',"event":') BETWEEN 1 AND ${MAX_WAITING_FACT + 1} THEN left(w.data, strpos(w.data, ',"event":') - 1) || '}' ELSE '{}' END
  WHEN length(w.data) > ${MAX_WAITING_FACT} THEN '{}' ELSE w.data END AS data
FROM holdfast.run_log l
CROSS JOIN LATERAL unnest(string_to_array(l.facts, E'\\n'), string_to_array(l.data, E'\\x1e')) WITH ORDINALITY AS f(line, data, place)
CROSS JOIN LATERAL (SELECT holdfast.whole_fact(f.data, l.run_id, '', '') AS data) w
WHERE ${isAmong("l.run_id", "$1::text[]")} AND l.facts ~ '(^|\\n)(${WAITING_LINES}) ' AND f.line ~ '^(${WAITING_LINES}) '
ORDER BY l.run_id, l.seq, f.place`;

export async function openRuns(query: Query, runIds: readonly string[]): Promise<OpenRun[]> {
  if (runIds.length === 0) return [];
  const heads = await query<HeadRow>(HEADS, [textArray([...new Set(runIds)].sort())]);
  if (heads.length === 0) return [];
  const ids = heads.map(({ id }) => id);
  const open = textArray(ids);
  const [jobs, waits, facts] = await Promise.all([
    query<OpenJobRow>(JOBS, [open]),
    waitsOfRuns(query, ids),
    query<FactRow>(FACTS, [open]),
  ]);
  const jobsOf = groupBy(jobs, (row) => row.run_id);
  const waitsOf = groupBy(waits, (wait: StoredWait) => wait.runId);
  const factsOf = groupBy(facts, (row) => row.run_id);
  return heads.map((row) => ({
    head: headOf(row),
    jobs: (jobsOf.get(row.id) ?? []).map(jobOf),
    waits: waitsOf.get(row.id) ?? [],
    facts: (factsOf.get(row.id) ?? []).flatMap(factOf),
  }));
}

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

const jobOf = (row: OpenJobRow): OpenJob => ({
  id: row.id,
  kind: row.kind,
  key: row.key,
  attempt: row.attempt,
  iteration: row.iteration,
  epoch: row.epoch,
  priority: row.priority,
  availableMs: row.available_ms,
  leasedBy: row.leased_by,
  claimedMs: row.claimed_ms,
  isUnplaced: row.is_unplaced,
  slots: [row.slot_a, row.slot_b].filter((slot) => slot !== null),
  throttle: row.throttle,
  wantedVersion: row.wanted_version,
});

const factOf = ({ seq, at_ms: atMs, line, data }: FactRow): WaitingFact[] =>
  readFacts(line, data).map((fact) => ({ ...fact, seq, atMs }));

const SLOTS = `SELECT n.place, count(*)::int AS taken, (array_agg(h.run_id ORDER BY h.claimed_at, h.id))[1] AS run_id,
  ${msOf("min(h.claimed_at)")} AS claimed_ms
FROM unnest($1::text[]) WITH ORDINALITY AS n(slot, place) CROSS JOIN LATERAL (
  SELECT q.id, q.run_id, q.claimed_at FROM holdfast.queue q WHERE q.slot_a = n.slot AND q.slot_a IS NOT NULL AND q.leased_by IS NOT NULL
  UNION ALL
  SELECT q.id, q.run_id, q.claimed_at FROM holdfast.queue q WHERE q.slot_b = n.slot AND q.slot_b IS NOT NULL AND q.leased_by IS NOT NULL
) h GROUP BY n.place`;

const THROTTLES = `SELECT n.place, ${msOf("g.at")} AS at_ms
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n(function_id, key, place)
CROSS JOIN LATERAL (
  SELECT at FROM holdfast.gates WHERE function_id = n.function_id AND kind = 'throttle' AND key = n.key OFFSET 0) g`;

/**
 * As claims have it: by time less priority, then by id. When the job is due is read here, to the microsecond: all jobs of
 * one send are due in the same millisecond. Of each priority only what comes before the job is read: for the oldest job
 * of a long queue next to nothing.
 */
const AHEAD = `SELECT n.place::int AS place, a.ahead, a.paced
FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place)
CROSS JOIN LATERAL (
  SELECT id, function_id, priority, available_at, throttle FROM holdfast.queue WHERE id = n.id AND leased_by IS NULL OFFSET 0
) j
CROSS JOIN LATERAL (
  WITH RECURSIVE ${prioritiesOf("j.function_id")}
  SELECT count(*)::int AS ahead, (count(*) FILTER (WHERE y.throttle = j.throttle))::int AS paced
  FROM (SELECT x.throttle FROM priorities p CROSS JOIN LATERAL (
    SELECT q.throttle FROM holdfast.queue q WHERE q.function_id = j.function_id AND q.priority = p.priority
      AND q.available_at <= now()
      AND q.available_at <= j.available_at + (p.priority - j.priority) * interval '1 second'
      AND (q.available_at < j.available_at + (p.priority - j.priority) * interval '1 second' OR q.id < j.id)
    ORDER BY q.available_at LIMIT ${MAX_AHEAD}
  ) x LIMIT ${MAX_AHEAD}) y
) a`;

const FIRST: QueuePlace = { ahead: 0, pacedAhead: 0 };

const SEEN = `SELECT n.place, ${msOf("max(g.seen_at)")} AS seen_ms FROM unnest($1::text[]) WITH ORDINALITY AS n(slug, place)
JOIN holdfast.app_groups g ON n.slug = ANY(g.slugs) GROUP BY n.place`;

/** What was not asked for costs no statement. */
export async function placesTaken(query: Query, asked: PlacesAsked): Promise<PlacesTaken> {
  const { slots, throttles, ahead, functionIds } = asked;
  const ask = <Row extends object>(count: number, text: string, params: readonly Param[]): Promise<Row[]> =>
    count === 0 ? Promise.resolve([]) : query<Row>(text, [...params]);
  const [uses, starts, counts, seen] = await Promise.all([
    ask<{ place: number; taken: number; run_id: string; claimed_ms: number | null }>(slots.length, SLOTS, [
      textArray(slots),
    ]),
    ask<{ place: number; at_ms: number }>(throttles.length, THROTTLES, [
      textArray(throttles.map(({ functionId }) => functionId)),
      textArray(throttles.map(({ key }) => key)),
    ]),
    ask<{ place: number; ahead: number; paced: number }>(ahead.length, AHEAD, [textArray(ahead)]),
    ask<{ place: number; seen_ms: number }>(functionIds.length, SEEN, [textArray(functionIds)]),
  ]);
  const at = <Row extends { readonly place: number }>(rows: readonly Row[], index: number): Row | undefined =>
    rows.find(({ place }) => Number(place) === index + 1);
  return {
    slots: slots.map((_, index) => {
      const use = at(uses, index);
      return use
        ? { taken: use.taken, oldest: { runId: use.run_id, claimedMs: use.claimed_ms ?? 0 } }
        : { taken: 0, oldest: null };
    }),
    throttles: throttles.map((_, index) => at(starts, index)?.at_ms ?? null),
    ahead: ahead.map((_, index) => {
      const count = at(counts, index);
      return count ? { ahead: count.ahead, pacedAhead: count.paced } : FIRST;
    }),
    seenMs: functionIds.map((_, index) => at(seen, index)?.seen_ms ?? null),
  };
}

/**
 * As `rules/moves-on.ts` has it. Runs are read by their ids, so a page costs as much as it has rows. With `OFFSET 0` what
 * must not exist is looked for run by run: joined, the whole queue would be read for each (`JOBS_BY_ID_AND_RUN`).
 */
const UNMOVED = `WITH page AS MATERIALIZED (
  SELECT r.id, r.ended_at FROM holdfast.runs r WHERE ($2::text IS NULL OR r.id < $2) ORDER BY r.id DESC LIMIT $1
)
SELECT (SELECT count(*)::int FROM page) AS looked, (SELECT min(id) FROM page) AS last, COALESCE((
  SELECT json_agg(p.id ORDER BY p.id DESC)::text FROM page p WHERE p.ended_at IS NULL
    AND NOT EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = p.id AND q.kind <> 'start'
      AND NOT (q.kind = 'timer' AND q.key IN ('${DEADLINE}', '${FINISH_TIMEOUT}')) OFFSET 0)
    AND NOT EXISTS (SELECT FROM holdfast.waits w WHERE w.run_id = p.id AND w.kind <> 'cancel' OFFSET 0)
), '[]') AS ids`;

export async function unmovedRuns(
  query: Query,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<UnmovedPage> {
  const [row] = await query<{ looked: number; last: string | null; ids: string }>(UNMOVED, [limit, cursor ?? null]);
  const looked = row?.looked ?? 0;
  return {
    runIds: JSON.parse(row?.ids ?? "[]") as string[],
    looked,
    nextCursor: looked < limit ? null : (row?.last ?? null),
  };
}
