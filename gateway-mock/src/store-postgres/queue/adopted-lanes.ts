/** Puts the jobs of functions whose limits have changed into the lanes that they have now (docs/decisions/0172). */
import { type LaneAdoption, type LanesAdopted, lanesOf } from "@holdfast/store";
import { isRegistry, numberArray, rowsOf, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";
import { busyAmong } from "./busy-functions.ts";
import { amongThe } from "./claim-rows.ts";

/**
 * So many of a function are put into their lane at once, and are locked meanwhile. Each time all of its jobs are read to
 * find those that are in no lane, so that fewer at once would take longer.
 */
const JOBS_AT_ONCE = 50_000;

const COLUMNS = {
  function_id: "$1::text[]",
  lane: "$2::text[]",
  started_lane: "$3::text[]",
  slot_a: "$4::text[]",
  slot_b: "$5::text[]",
  throttle: "$6::text[]",
  is_only: "$7::int[]",
};

/** Of a lane only the index of lanes is asked: jobs that are in their lanes already are not read, however many. */
const inOtherLanes = (bounds: string): string => `(SELECT q.id FROM holdfast.queue q
      WHERE w.is_only = 1 AND q.function_id || '' = w.function_id AND q.lane <> '' AND ${bounds} LIMIT ${JOBS_AT_ONCE})`;

/** Gateways that know different registries would put jobs to and fro: who knows the newest one goes on. */
const STRAYS = `SELECT x.id, w.function_id FROM ${rowsOf(COLUMNS, "w")} CROSS JOIN LATERAL (
    (SELECT q.id FROM holdfast.queue q WHERE q.function_id = w.function_id AND q.lane = '' LIMIT ${JOBS_AT_ONCE})
    UNION ALL ${inOtherLanes("q.lane < LEAST(w.lane, w.started_lane)")}
    UNION ALL ${inOtherLanes("q.lane > LEAST(w.lane, w.started_lane) AND q.lane < GREATEST(w.lane, w.started_lane)")}
    UNION ALL ${inOtherLanes("q.lane > GREATEST(w.lane, w.started_lane)")}
  ) x WHERE ${isRegistry("$8")}`;

const HAS_STARTED = `q.throttle IS NULL AND NOT (q.kind = 'pass' AND q.attempt = 0 AND q.iteration = 1
    AND (q.epoch = 0 OR q.unplaced_since IS NOT NULL))`;

/** Of many jobs each is looked up once, by its id, and its function's row among the few that there are. */
const ADOPT = `WITH stray AS MATERIALIZED (${STRAYS}), free AS MATERIALIZED (
  SELECT q.id FROM holdfast.queue q WHERE ${amongThe("stray")} ORDER BY q.id FOR UPDATE SKIP LOCKED
), adopted AS (
  UPDATE holdfast.queue q SET
    lane = CASE WHEN w.is_only = 0 THEN '-' WHEN ${HAS_STARTED} THEN w.started_lane ELSE w.lane END,
    slot_a = CASE w.is_only WHEN 0 THEN q.slot_a ELSE w.slot_a END,
    slot_b = CASE w.is_only WHEN 0 THEN q.slot_b ELSE w.slot_b END,
    throttle = CASE WHEN w.is_only = 0 THEN q.throttle WHEN ${HAS_STARTED} THEN NULL ELSE w.throttle END
  FROM ${rowsOf(COLUMNS, "w")} WHERE w.function_id = q.function_id || '' AND ${amongThe("free")}
  RETURNING q.function_id
), counts AS (
  SELECT function_id, count(*) AS found, 0 AS moved FROM stray GROUP BY function_id
  UNION ALL SELECT function_id, 0, count(*) FROM adopted GROUP BY function_id
)
SELECT function_id, sum(moved)::int AS moved,
  sum(moved) < sum(found) OR sum(found) >= ${JOBS_AT_ONCE} AS is_left FROM counts GROUP BY function_id`;

interface AdoptedRow {
  readonly function_id: string;
  readonly moved: number;
  readonly is_left: boolean;
}

export async function adoptLanes(
  query: Query,
  asked: readonly LaneAdoption[],
  registryVersion: number | null,
): Promise<LanesAdopted> {
  const adoptions = await busyAmong(query, asked, ({ functionId }) => functionId);
  if (adoptions.length === 0) return { moved: 0, left: [] };
  const lanes = adoptions.map(({ lane }) => lane && { ...lane, ...lanesOf(lane) });
  const rows = await query<AdoptedRow>(ADOPT, [
    textArray(adoptions.map(({ functionId }) => functionId)),
    textArray(lanes.map((lane) => lane?.id ?? null)),
    textArray(lanes.map((lane) => lane?.startedId ?? null)),
    textArray(lanes.map((lane) => lane?.slots[0] ?? null)),
    textArray(lanes.map((lane) => lane?.slots[1] ?? null)),
    textArray(lanes.map((lane) => lane?.throttle ?? null)),
    numberArray(lanes.map((lane) => (lane ? 1 : 0))),
    registryVersion,
  ]);
  return {
    moved: rows.reduce((sum, { moved }) => sum + moved, 0),
    left: rows.flatMap((row) => (row.is_left ? [row.function_id] : [])),
  };
}
