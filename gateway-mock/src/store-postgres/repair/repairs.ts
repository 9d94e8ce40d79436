/** Binds the statements of this room to the port. */
import type { StoreBulk, StoreRepairs } from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { bulkOfDatabase } from "./bulk.ts";
import { deleteRuns } from "./delete-runs.ts";
import { descendantsOf } from "./origins.ts";

export function repairsOf(database: Database): StoreRepairs & StoreBulk {
  return {
    ...bulkOfDatabase(database),
    deleteRuns: (runIds) => deleteRuns(database, runIds),
    descendantsOf: (runId, limit) => descendantsOf(database.query, runId, limit),
  };
}
