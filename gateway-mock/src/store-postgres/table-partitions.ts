/**
 * Keeps partitions ready for what comes: `runs`, `run_log` and `events` are parted by the time of their ids
 * (docs/decisions/0073). Every gateway looks now and then, so that one of them makes the next in time.
 */
import { messageOf } from "@holdfast/core";
import type { Database } from "./connection/database.ts";

/** Of a partition: a week. */
export const DEFAULT_TABLE_PARTITION_MS = 7 * 24 * 60 * 60_000;

/** Tables that end sooner than `$1` milliseconds from now. Of the server's own time, whatever time tests have skipped. */
const SHORT = `SELECT t.parent FROM (SELECT unnest(ARRAY['runs', 'run_log', 'events']) AS parent) t
WHERE COALESCE((SELECT max(p.to_at) FROM holdfast.table_partitions p WHERE p.parent = t.parent), '-infinity')
  < transaction_timestamp() + $1::float8 * interval '1 millisecond'`;

const MAX_REST_MS = 60 * 60_000;
/** After a try that failed. */
const RETRY_MS = 60_000;
const LIMIT_MS = 10_000;

export interface TablePartitions {
  /** Looks whether there are enough, but not more often than it has to. Rejects only where the look fails. */
  keep(): Promise<void>;
}

export function openTablePartitions(database: Database, tablePartitionMs: number): TablePartitions {
  const { monotonicMs, log } = database.options;
  let nextMs = Number.NEGATIVE_INFINITY;
  return {
    async keep() {
      const nowMs = monotonicMs();
      if (nowMs < nextMs) return;
      nextMs = nowMs + Math.min(MAX_REST_MS, tablePartitionMs / 4);
      const short = await database.query<{ parent: string }>(SHORT, [tablePartitionMs]);
      for (const { parent } of short) {
        const [width, ahead] = [tablePartitionMs, 2 * tablePartitionMs].map((ms) => `${ms} * interval '1 millisecond'`);
        try {
          // A transaction for each table: it waits for locks while it holds none that others wait for.
          await database.once(`SELECT holdfast.extend_table_partitions('${parent}', ${width}, ${ahead})`, LIMIT_MS);
        } catch (error) {
          nextMs = Math.min(nextMs, nowMs + RETRY_MS);
          log("debug", `The next partition of ${parent} could not be made yet: ${messageOf(error)}; retrying`);
        }
      }
    },
  };
}
