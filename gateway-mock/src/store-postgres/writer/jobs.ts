/** Inserts jobs into the queue, with their lanes where they have any. */
import type { NewJob } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { intervalOf, numberArray, rowsOf, textArray, timeOf } from "../connection/pg-values.ts";

const COLUMNS = {
  id: "$1::text[]",
  run_id: "$2::text[]",
  kind: "$3::text[]",
  key: "$4::text[]",
  function_id: "$5::text[]",
  attempt: "$6::int[]",
  iteration: "$7::int[]",
  priority: "$8::int[]",
  delay: "$9::float8[]",
  not_before: "$10::float8[]",
  leased_by: "$11::text[]",
};
const LANE_COLUMNS = { lane: "$12::text[]", slot_a: "$13::text[]", slot_b: "$14::text[]", throttle: "$15::text[]" };

/**
 * Lanes are rare: without any the statement has no word of them. Of jobs that may be there (`isFresh` = none of these
 * is) the first of its kind stays.
 */
export function insertJobs(rows: readonly NewJob[], isFresh: boolean): Statement {
  const lanes = rows.some((job) => job.lane);
  return {
    text: `INSERT INTO holdfast.queue (id, run_id, kind, key, function_id, attempt, iteration, priority, epoch,
  available_at, created_at, leased_by, claimed_at, lost${lanes ? ", lane, slot_a, slot_b, throttle" : ""})
SELECT id, run_id, kind, key, function_id, attempt, iteration, priority, CASE WHEN leased_by IS NULL THEN 0 ELSE 1 END,
  GREATEST(now() + ${intervalOf("delay")}, ${timeOf("not_before")}), now(), leased_by,
  CASE WHEN leased_by IS NOT NULL THEN now() END, false${lanes ? ", COALESCE(lane, ''), slot_a, slot_b, throttle" : ""}
FROM ${rowsOf({ ...COLUMNS, ...(lanes ? LANE_COLUMNS : {}) })}${
      isFresh ? "" : "\nON CONFLICT (run_id, kind, key) DO NOTHING"
    }`,
    params: [
      textArray(rows.map((job) => job.id)),
      textArray(rows.map((job) => job.runId)),
      textArray(rows.map((job) => job.kind)),
      textArray(rows.map((job) => job.key)),
      textArray(rows.map((job) => job.functionId)),
      numberArray(rows.map((job) => job.attempt)),
      numberArray(rows.map((job) => job.iteration)),
      numberArray(rows.map((job) => job.priority ?? 0)),
      numberArray(rows.map((job) => job.lease?.leaseMs ?? job.delayMs ?? 0)),
      numberArray(rows.map((job) => (job.lease ? null : (job.notBeforeMs ?? null)))),
      textArray(rows.map((job) => job.lease?.gatewayId ?? null)),
      ...(lanes ? laneParams(rows) : []),
    ],
  };
}

function laneParams(rows: readonly NewJob[]): string[] {
  return [
    textArray(rows.map(({ lane }) => lane?.id ?? null)),
    textArray(rows.map(({ lane }) => lane?.slots[0] ?? null)),
    textArray(rows.map(({ lane }) => lane?.slots[1] ?? null)),
    textArray(rows.map(({ lane }) => lane?.throttle ?? null)),
  ];
}
