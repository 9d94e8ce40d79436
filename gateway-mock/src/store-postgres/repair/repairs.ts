/** Binds the statements of this room to the port. */
import type { StoreRepairs } from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { deleteRuns } from "./delete-runs.ts";
import { descendantsOf } from "./origins.ts";

export function repairsOf(database: Database): StoreRepairs {
  return {
    deleteRuns: (runIds) => deleteRuns(database, runIds),
    descendantsOf: (runId, limit) => descendantsOf(database.query, runId, limit),
  };
}
