/**
 * Keeps the index by which live streams find new rows of the log close to its end. Inserts leave that to maintenance, and
 * autovacuum may take its time: without it a first look would read all pages that were written since.
 */
import { messageOf } from "@holdfast/core";
import type { Database } from "../connection/database.ts";

const PARTITIONS = `SELECT i.inhrelid::regclass::text AS index, pg_relation_size(x.indrelid)::float8 AS bytes
FROM pg_inherits i JOIN pg_index x ON x.indexrelid = i.inhrelid WHERE i.inhparent = 'holdfast.run_log_by_seq'::regclass`;

const EVERY_MS = 30_000;
const LIMIT_MS = 20_000;

export interface Summaries {
  /** Brings the index up to date where the log has grown, but not more often than it has to. Rejects only where the look fails. */
  keep(): Promise<void>;
}

export function openSummaries(database: Database): Summaries {
  const { monotonicMs, log } = database.options;
  const summarised = new Map<string, number>();
  let nextMs = Number.NEGATIVE_INFINITY;
  return {
    async keep() {
      const nowMs = monotonicMs();
      if (nowMs < nextMs) return;
      nextMs = nowMs + EVERY_MS;
      for (const { index, bytes } of await database.query<{ index: string; bytes: number }>(PARTITIONS)) {
        if (summarised.get(index) === bytes) continue;
        try {
          await database.once(`SELECT holdfast.summarise_log('${index.replaceAll("'", "''")}')`, LIMIT_MS);
          summarised.set(index, bytes);
        } catch (error) {
          log("debug", `The index of the log's changes is brought up to date later: ${messageOf(error)}`);
        }
      }
    },
  };
}
