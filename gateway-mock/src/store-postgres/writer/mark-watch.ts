/** Notices that the database has forgotten a batch which it had acknowledged (docs/decisions/0095). */
import type { DatabaseOptions } from "../connection/database.ts";
import type { WriterSession } from "../connection/writer-session.ts";
import { READ_MARK } from "./sql.ts";

/** Marks are removed a week after their last batch. */
const MARK_KEPT_MS = 6 * 24 * 60 * 60_000;
const ADVICE = "steps of these moments may run again. Synchronous replication prevents it (docs/failover.md).";

export interface MarkWatch {
  acknowledge(batch: number): void;
  /** On a new connection, before anything is written. */
  compare(session: WriterSession): Promise<void>;
}

export function watchMark(
  { monotonicMs, log }: DatabaseOptions,
  writerId: string,
  stats: { lostBatches: number },
): MarkWatch {
  let last = { batch: 0, atMs: 0 };
  const acknowledge = (batch: number): void => {
    last = { batch, atMs: monotonicMs() };
  };
  return {
    acknowledge,
    async compare(session) {
      if (last.batch === 0 || monotonicMs() - last.atMs > MARK_KEPT_MS) return;
      const [row] = await session.guard(session.query<{ batch: number }>(READ_MARK, [writerId]));
      const stored = Number(row?.batch ?? 0);
      const lost = last.batch - stored;
      if (lost <= 0) return;
      stats.lostBatches += lost;
      acknowledge(stored);
      const what = lost === 1 ? "A write that it had acknowledged is" : `${lost} writes that it had acknowledged are`;
      log("error", `COMMITS_LOST: the database has gone back, as after a failover. ${what} gone: ${ADVICE}`, {
        code: "COMMITS_LOST",
        lostBatches: lost,
      });
    },
  };
}
