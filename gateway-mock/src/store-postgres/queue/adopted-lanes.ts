/** Puts the jobs of functions whose limits have changed into the lanes that they have now (docs/decisions/0172). */
import { type LaneAdoption, lanesOf } from "@holdfast/store";
import type { Query } from "../connection/database.ts";
import { isRegistry, numberArray, rowsOf, textArray } from "../connection/pg-values.ts";
import { amongThe } from "./claim-rows.ts";

/** So many rows of other lanes are locked at once: claims pass them by meanwhile. */
const JOBS_AT_ONCE = 5_000;
/** What other transactions had locked is tried again, so often. */
const TRIES = 20;

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
const STRAYS = `SELECT x.id FROM ${rowsOf(COLUMNS, "w")} CROSS JOIN LATERAL (
    SELECT q.id FROM holdfast.queue q WHERE q.function_id = w.function_id AND q.lane = ''
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
  RETURNING q.id
)
SELECT (SELECT count(*) FROM stray)::int AS found, (SELECT count(*) FROM adopted)::int AS adopted`;

/** `rest` is between tries at what other transactions have locked. */
export async function adoptLanes(
  query: Query,
  adoptions: readonly LaneAdoption[],
  registryVersion: number | null,
  rest: () => Promise<void>,
): Promise<void> {
  if (adoptions.length === 0) return;
  const lanes = adoptions.map(({ lane }) => lane && { ...lane, ...lanesOf(lane) });
  const params = [
    textArray(adoptions.map(({ functionId }) => functionId)),
    textArray(lanes.map((lane) => lane?.id ?? null)),
    textArray(lanes.map((lane) => lane?.startedId ?? null)),
    textArray(lanes.map((lane) => lane?.slots[0] ?? null)),
    textArray(lanes.map((lane) => lane?.slots[1] ?? null)),
    textArray(lanes.map((lane) => lane?.throttle ?? null)),
    numberArray(lanes.map((lane) => (lane ? 1 : 0))),
    registryVersion,
  ];
  for (let tries = 0; tries < TRIES; ) {
    const [row] = await query<{ found: number; adopted: number }>(ADOPT, params);
    if (!row || row.found === 0) return;
    if (row.adopted > 0) continue;
    tries += 1;
    await rest();
  }
}
