/** Retention as the port has it. */
import type { Store } from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { holdRun, releaseHold } from "./holds.ts";
import { openPruner } from "./prune.ts";

export function retentionOf(
  database: Database,
  tablePartitionMs: number,
): Pick<Store, "prune" | "holdRun" | "releaseHold"> {
  const pruner = openPruner(database, tablePartitionMs);
  return {
    prune: (policy, options) => pruner.prune(policy, options),
    holdRun: (runId, reason) => holdRun(database.query, runId, reason),
    releaseHold: (runId) => releaseHold(database.query, runId),
  };
}
