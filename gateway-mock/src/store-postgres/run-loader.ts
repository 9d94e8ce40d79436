/** Loads runs with their logs, as many as are asked for in two statements. */
import type { StoredLogRow, StoredRun } from "@holdfast/store";
import type { Query } from "./connection/database.ts";
import { isAmong, textArray } from "./connection/pg-values.ts";

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
  const logs = await loadLogs(query, ids);
  return heads.flatMap((row) => {
    const log = logs.get(row.id);
    return log ? [{ head: headOf(row), log }] : [];
  });
}

/** `ids`: an array, sorted. */
export async function loadLogs(query: Query, ids: string): Promise<Map<string, StoredLogRow[]>> {
  const byRun = new Map<string, StoredLogRow[]>();
  for (const row of await query<LogDbRow>(LOGS, [ids])) {
    const log = byRun.get(row.run_id);
    if (log) log.push(...factsOfRow(row));
    else byRun.set(row.run_id, factsOfRow(row));
  }
  return byRun;
}
