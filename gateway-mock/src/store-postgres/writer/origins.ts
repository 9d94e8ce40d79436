/** Writes which run a new run was made of. */
import type { RunWrite } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { rowsOf, textArray } from "../connection/pg-values.ts";

/** Of the few runs that are made of others. */
export function insertOrigins(rows: readonly RunWrite[]): Statement {
  return {
    text: `INSERT INTO holdfast.run_origins (run_id, origin_id, kind, step)
SELECT run_id, origin_id, kind, step FROM ${rowsOf({
      run_id: "$1::text[]",
      origin_id: "$2::text[]",
      kind: "$3::text[]",
      step: "$4::text[]",
    })}`,
    params: [
      textArray(rows.map(({ run }) => run.id)),
      textArray(rows.map(({ run }) => run.origin?.runId ?? "")),
      textArray(rows.map(({ run }) => run.origin?.kind ?? "")),
      textArray(rows.map(({ run }) => run.origin?.step ?? null)),
    ],
  };
}
