/** Loads runs with their logs, as many as are asked for in two statements. */
import type { StoredLogRow, StoredRun } from "@holdfast/store";
import { contextOf } from "./connection/compact-facts.ts";
import { isAmong, textArray } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";

import { factsOfRow, type HeadRow, headColumns, headOf, LOG_COLUMNS, type LogDbRow } from "./rows.ts";

const HEADS = `SELECT ${headColumns()} FROM holdfast.runs r WHERE ${isAmong("r.id", "$1::text[]")}`;
const LOGS = `SELECT ${LOG_COLUMNS} FROM holdfast.run_log WHERE ${isAmong("run_id", "$1::text[]")} ORDER BY run_id, seq`;

/**
 * Heads first, then logs, in two statements: the log of a run may be ahead of its head (a decision on such a state
 * fails its version), never behind it. One without a log was removed between the two.
 */
export async function loadRuns(query: Query, runIds: readonly string[]): Promise<StoredRun[]> {
  if (runIds.length === 0) return [];
  const ids = textArray([...new Set(runIds)].sort());
  const heads = await query<HeadRow>(HEADS, [ids]);
  const logs = await loadLogs(query, heads);
  return heads.flatMap((row) => {
    const log = logs.get(row.id);
    return log ? [{ head: headOf(row), log }] : [];
  });
}

/** Of runs whose heads were read. */
export async function loadLogs(query: Query, heads: readonly HeadRow[]): Promise<Map<string, StoredLogRow[]>> {
  const contexts = new Map(heads.map((head) => [head.id, contextOf(head)]));
  const byRun = new Map<string, StoredLogRow[]>();
  if (contexts.size === 0) return byRun;
  for (const row of await query<LogDbRow>(LOGS, [textArray([...contexts.keys()].sort())])) {
    const context = contexts.get(row.run_id) ?? { runId: row.run_id };
    const log = byRun.get(row.run_id);
    if (log) log.push(...factsOfRow(row, context));
    else byRun.set(row.run_id, factsOfRow(row, context));
  }
  return byRun;
}
