/** How large the tables are, from the catalogue and the first entry of an index: nothing is counted. */
import { ulidTimeMs } from "@holdfast/core";
import type { TableSize } from "@holdfast/store";
import type { Database } from "../connection/database.ts";

const SIZES = `SELECT c.relname AS name, count(i.inhrelid)::int AS partitions,
  COALESCE(sum(pg_total_relation_size(COALESCE(i.inhrelid, c.oid))), 0)::float8 AS bytes,
  GREATEST(sum(COALESCE(p.reltuples, c.reltuples)), 0)::float8 AS rows
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_inherits i ON i.inhparent = c.oid LEFT JOIN pg_class p ON p.oid = i.inhrelid
WHERE n.nspname = 'holdfast' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
GROUP BY c.oid, c.relname ORDER BY c.relname`;

/** By their ids, which begin with the time. */
const OLDEST = `SELECT (SELECT min(id) FROM holdfast.runs) AS runs, (SELECT min(run_id) FROM holdfast.run_log) AS run_log,
  (SELECT min(id) FROM holdfast.events) AS events, (SELECT min(id) FROM holdfast.queue) AS queue`;

/** They do not change quickly, and the files of each partition are looked at. */
const KEPT_MS = 10_000;

interface SizeRow {
  readonly name: string;
  readonly partitions: number;
  readonly bytes: number;
  readonly rows: number;
}

export function tableSizesOf(database: Pick<Database, "query" | "options">): () => Promise<readonly TableSize[]> {
  const { monotonicMs } = database.options;
  let last: { readonly sizes: readonly TableSize[]; readonly untilMs: number } | null = null;
  return async () => {
    if (last && monotonicMs() < last.untilMs) return last.sizes;
    const rows = await database.query<SizeRow>(SIZES);
    const [oldest = {}] = await database.query<Record<string, string | null>>(OLDEST);
    const sizes = rows.map(({ name: table, partitions, bytes, rows: count }) => {
      const id = oldest[table];
      return { table, bytes, rows: count, partitions, oldestMs: id ? ulidTimeMs(id) : null };
    });
    last = { sizes, untilMs: monotonicMs() + KEPT_MS };
    return sizes;
  };
}
