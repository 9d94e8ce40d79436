/** Counts what would be removed now, and how much it takes; looks at every old run, but changes nothing. */
import { ulidTimeMs } from "@holdfast/core";
import { DEFAULT_ENVIRONMENT, type PrunePreview, qualify, type RetentionPolicy, shortestMs } from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { msOf } from "../connection/pg-values.ts";
import { periodsJson } from "./periods.ts";
import { loadSpans } from "./prune.ts";
import { dueSpans, type Span } from "./spans.ts";

/** Of a large partition a sample of its pages is counted: all of it may take longer than a statement may. */
const COUNT = `SELECT seen::float8 AS seen, gone::float8 AS gone, ${msOf("oldest")} AS oldest_ms,
  CASE WHEN c.reltuples > ${100_000} THEN c.reltuples END::float8 AS rows
FROM pg_class c, holdfast.preview_past($1, $2, $3::text::jsonb, now(), c.reltuples > ${100_000}, $4)
WHERE c.oid = format('holdfast.%I', $2::text)::regclass`;

interface Counted {
  /** Of all environments. */
  readonly seen: number;
  readonly gone: number;
  readonly oldest_ms: number | null;
  /** How many it has altogether, where `seen` are a sample of them. */
  readonly rows: number | null;
}

/** The oldest run that is younger than what was counted. */
const YOUNGER = `SELECT r.id FROM holdfast.runs r WHERE r.id >= $1 AND ($2::text IS NULL
  OR $2 = CASE WHEN r.function_id LIKE '@@%' THEN split_part(r.function_id, ':', 1) ELSE '@@' END) ORDER BY r.id LIMIT 1`;

/** Names of an environment begin so. */
const prefixOf = (environment: string): string =>
  environment === DEFAULT_ENVIRONMENT ? "@@" : qualify(environment, "").slice(0, -1);

export async function previewPrune(
  database: Database,
  policy: RetentionPolicy,
  environment: string | undefined,
): Promise<PrunePreview> {
  const { spans, nowMs, serverMs } = await loadSpans(database);
  const periods = periodsJson(policy);
  const prefix = environment === undefined ? null : prefixOf(environment);
  const due = (parent: "runs" | "events", ms: number | null): Span[] =>
    ms === null ? [] : dueSpans(spans, { parent, shortestMs: ms, nowMs, serverMs, lookEveryMs: 0, periods });
  const [old, oldEvents] = [due("runs", shortestMs(policy)), due("events", policy.completedMs)];
  const result = { runs: 0, events: 0, bytes: 0 };
  const ages: number[] = [];
  for (const [kind, list] of [
    ["runs", old],
    ["events", oldEvents],
  ] as const) {
    for (const { parent, name, fromId, toId } of list) {
      const [counted] = await database.query<Counted>(COUNT, [parent, name, periods, prefix]);
      const { seen = 0, gone = 0, oldest_ms: oldestMs = null, rows = null } = counted ?? {};
      if (kind === "runs" && oldestMs !== null) ages.push(oldestMs);
      result[kind] += rows === null || seen === 0 ? gone : Math.round((rows * gone) / seen);
      if (gone > 0) result.bytes += Math.round((await bytesBetween(database, kind, fromId, toId)) * (gone / seen));
    }
  }
  const [younger] = await database.query<{ id: string }>(YOUNGER, [old.at(-1)?.toId ?? "", prefix]);
  if (younger !== undefined) ages.push(ulidTimeMs(younger.id));
  return { ...result, oldestRunMs: ages.length === 0 ? null : Math.min(...ages) };
}

/** Of all tables of a kind, in the partitions of a span. */
async function bytesBetween(database: Database, kind: string, fromId: string, toId: string): Promise<number> {
  const [row] = await database.query<{ bytes: number }>(
    `SELECT COALESCE(sum(pg_total_relation_size(format('holdfast.%I', p.name)::regclass)), 0)::float8 AS bytes
FROM holdfast.table_partitions p WHERE p.parent = ANY(holdfast.tables_with($1)) AND p.from_id >= $2 AND p.to_id <= $3`,
    [kind, fromId, toId],
  );
  return row?.bytes ?? 0;
}
