/** The head that a run's log amounts to; every test ends by comparing it with the stored one. */
import type { RunStatus, StoredLogRow } from "../port/work.ts";

/** What a run's log says its head must be. `startedMs` is not among it: a claim begins a run and writes no row. */
export interface FoldedHead {
  readonly status: RunStatus;
  readonly version: number;
  readonly createdMs: number;
  readonly endedMs: number | null;
  /** JSON text, from the field `output` of the RUN_COMPLETED row. */
  readonly outputJson: string | null;
  /** JSON text, from the field `error` of the RUN_FAILED or RUN_CANCELLED row. */
  readonly errorJson: string | null;
}

const ENDS: Partial<Record<StoredLogRow["kind"], RunStatus>> = {
  RUN_COMPLETED: "COMPLETED",
  RUN_FAILED: "FAILED",
  RUN_CANCELLED: "CANCELLED",
};

/**
 * `fold(run_log) = runs`: the head is what the row of the highest version made of it; how the run ended is what its
 * last row says, whatever the head claims. Throws with the reason when the log contradicts itself.
 */
export function foldHead(log: readonly StoredLogRow[]): FoldedHead {
  const [created] = log.filter((row) => row.kind === "RUN_CREATED");
  if (created?.headVersion !== 1) throw new Error("the log has no RUN_CREATED row with version 1");
  const revived = log.findLastIndex((row) => row.kind === "RUN_REVIVED");
  const ends = log.slice(revived + 1).filter((row) => ENDS[row.kind] !== undefined);
  if (ends.length > 1) throw new Error(`the run ended ${ends.length} times: ${ends.map((row) => row.kind).join(", ")}`);
  let version = 1;
  let status: RunStatus = created.headStatus ?? "PENDING";
  for (const row of log) {
    if (row.headVersion === null || row.headStatus === null) continue;
    if (row.headVersion > version + 1) throw new Error(`no row made version ${version + 1}`);
    if (row.headVersion === version && row.headStatus !== status) {
      throw new Error(`version ${version} has two statuses: ${status} and ${row.headStatus}`);
    }
    if (row.headVersion < version) throw new Error(`version ${row.headVersion} was written after ${version}`);
    version = row.headVersion;
    status = row.headStatus;
  }
  const [end] = ends;
  if (end && ENDS[end.kind] !== status) throw new Error(`the log ends with ${end.kind}, its head with ${status}`);
  if (!end && Object.values(ENDS).includes(status)) throw new Error(`the head is ${status} without a matching log row`);
  return {
    status,
    version,
    createdMs: created.atMs,
    endedMs: end?.atMs ?? null,
    outputJson: end?.kind === "RUN_COMPLETED" ? field(end, "output") : null,
    errorJson: end && end.kind !== "RUN_COMPLETED" ? field(end, "error") : null,
  };
}

function field(row: StoredLogRow, name: string): string | null {
  const data = JSON.parse(row.dataJson) as Record<string, unknown> | null;
  const value = data?.[name];
  return value === undefined ? null : JSON.stringify(value);
}
