/** Which runs were made of a run. */
import type { Descendant } from "@holdfast/store";
import type { Query } from "../connection/query.ts";

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
