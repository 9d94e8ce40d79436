/** Which runs were made of a run. */
import type { Descendant } from "@holdfast/store";
import type { Database, Query } from "../connection/database.ts";

interface OriginRow {
  readonly run_id: string;
  readonly kind: Descendant["kind"];
  readonly step: string | null;
}

const DESCENDANTS = `SELECT o.run_id, o.kind, o.step FROM holdfast.run_origins o
WHERE o.origin_id = $1 AND EXISTS (SELECT FROM holdfast.runs r WHERE r.id = o.run_id) ORDER BY o.run_id DESC LIMIT $2`;

export async function descendantsOf(query: Query, runId: string, limit: number): Promise<Descendant[]> {
  const rows = await query<OriginRow>(DESCENDANTS, [runId, limit]);
  return rows.map(({ run_id, kind, step }) => ({ runId: run_id, kind, step }));
}

const ROWS_A_LOOK = 1_000;

/** One page of the table in order; which of its runs are gone is looked up by their ids. */
const TIDY = `WITH page AS MATERIALIZED (
  SELECT run_id FROM holdfast.run_origins WHERE run_id > $1 ORDER BY run_id LIMIT ${ROWS_A_LOOK}
), gone AS (
  DELETE FROM holdfast.run_origins o USING page WHERE o.run_id = page.run_id
    AND NOT EXISTS (SELECT FROM holdfast.runs r WHERE r.id = page.run_id)
) SELECT count(*)::int AS rows, max(run_id) AS last FROM page`;

/** Removes rows of runs that went with their partition, a page at each call. */
export function originsTidier({ query }: Pick<Database, "query">): () => Promise<void> {
  let after = "";
  return async () => {
    const [page] = await query<{ rows: number; last: string | null }>(TIDY, [after]);
    after = page && page.rows === ROWS_A_LOOK ? (page.last ?? "") : "";
  };
}
