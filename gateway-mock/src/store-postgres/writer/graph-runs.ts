/** Writes which graph a new run was made of. */
import type { RunWrite } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { booleanArray, numberArray, rowsOf, textArray } from "../connection/pg-values.ts";

export function insertGraphRuns(rows: readonly RunWrite[]): Statement {
  return {
    text: `INSERT INTO holdfast.graph_runs (run_id, uid, version, test, created_at)
SELECT run_id, uid, version, test, now() FROM ${rowsOf({
      run_id: "$1::text[]",
      uid: "$2::text[]",
      version: "$3::int[]",
      test: "$4::boolean[]",
    })}`,
    params: [
      textArray(rows.map(({ run }) => run.id)),
      textArray(rows.map(({ run }) => run.graph?.uid ?? "")),
      numberArray(rows.map(({ run }) => run.graph?.version ?? null)),
      booleanArray(rows.map(({ run }) => run.graph?.test ?? false)),
    ],
  };
}
