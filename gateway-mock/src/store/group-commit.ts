import { type Deferred, deferred, HoldfastError, sleep } from "@holdfast/core";
import { commitBatch, recoverBatch, type SentBatch } from "./batch-commit.ts";
import { type BatchLimits, takeBatch, type Unit, type UnitOutcome } from "./batch-plan.ts";
import { ENTER_WRITER } from "./batch-sql.ts";
import type { Database } from "./database.ts";
import { storeFailed, troubleOf } from "./pg-errors.ts";
import { openWriterSession, type WriterSession } from "./writer-session.ts";

export const GROUP_COMMIT_LIMITS = {
  /** Of one transaction. */
  maxUnits: 500,
  maxBytes: 8 * 1024 * 1024,
  /** Of what may wait; beyond it a write is refused at once. */
  maxWaitingUnits: 50_000,
  maxWaitingBytes: 512 * 1024 * 1024,
} as const satisfies BatchLimits & Record<string, number>;

export interface CommitStats {
  batches: number;
  units: number;
  statements: number;
  logRows: number;
  staleWrites: number;
  duplicateRows: number;
  retries: number;
}

export interface GroupCommit {
  submit(unit: Unit): Promise<UnitOutcome>;
  readonly waiting: number;
  readonly stats: Readonly<CommitStats>;
  /** Resolves when nothing is queued or under way, or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

interface Entry {
  readonly unit: Unit;
  readonly bytes: number;
  readonly done: Deferred<UnitOutcome>;
}

/**
 * The one writer of a store. While a batch is being committed others queue up; they are the next batch. There is no
 * delay: the first unit after a pause is committed in the same turn of the event loop.
 *
 * G1. One batch at a time, so the mark of the last one is the mark of the only one whose fate can be unknown.
 * G2. A batch that the server refuses for its data is split in halves until the culprit stands alone and fails alone.
 * G3. A batch undone by a deadlock, a serialization failure or a timeout is tried again as it is.
 * G4. After a lost connection: nothing of the second half was sent: try again. It was sent: read the mark. Ours: it was
 *     committed, and its outcomes are those that were planned under its locks (fences, versions and event keys were
 *     decided then, so a version that the batch itself raised cannot turn its own retry away); which log rows were new
 *     is read from the rows, which carry their transaction's number. Not ours: it was not committed, try again.
 * G5. Every unit is settled, at the latest `retryForMs` after its batch began.
 */
export function openGroupCommit(
  database: Database,
  writerId: string,
  limits: BatchLimits = GROUP_COMMIT_LIMITS,
): GroupCommit {
  const { timers, monotonicMs, url, log } = database.options;
  const stats: CommitStats = {
    batches: 0,
    units: 0,
    statements: 0,
    logRows: 0,
    staleWrites: 0,
    duplicateRows: 0,
    retries: 0,
  };
  let waiting: Entry[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | null = null;
  let session: WriterSession | null = null;
  let batchNumber = 0;
  let closed = false;

  const openSession = async (): Promise<WriterSession> => {
    if (session?.alive) return session;
    session = null;
    const fresh = await openWriterSession(database, timers);
    try {
      await fresh.guard(fresh.query("SET plan_cache_mode = force_generic_plan"));
      await fresh.guard(fresh.query(ENTER_WRITER, [writerId]));
    } catch (error) {
      await fresh.end();
      throw error;
    }
    session = fresh;
    return fresh;
  };

  const settle = (entries: readonly Entry[], outcomes: readonly UnitOutcome[]): void => {
    stats.batches += 1;
    stats.units += entries.length;
    for (const [index, entry] of entries.entries()) {
      const outcome = outcomes[index];
      if (!outcome) entry.done.reject(new HoldfastError("INTERNAL", "A commit has no outcome."));
      else {
        count(stats, outcome);
        entry.done.resolve(outcome);
      }
    }
  };

  const reject = (entries: readonly Entry[], error: HoldfastError): void => {
    for (const entry of entries) entry.done.reject(error);
  };

  /** Settles every entry; never rejects. */
  const commitAll = async (entries: readonly Entry[]): Promise<void> => {
    const units = entries.map((entry) => entry.unit);
    const startedMs = monotonicMs();
    let sent: SentBatch | null = null;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const on = await openSession();
        const recovered: readonly UnitOutcome[] | null = sent && (await recoverBatch(on, writerId, sent, units));
        if (recovered) return settle(entries, recovered);
        sent = null;
        batchNumber += 1;
        const hooks = {
          onSent: (batch: SentBatch) => {
            sent = batch;
          },
          onStatements: (statements: number) => {
            stats.statements += statements;
          },
        };
        return settle(entries, await commitBatch(on, writerId, batchNumber, units, hooks));
      } catch (error) {
        const trouble = troubleOf(error);

        if (trouble === "data") return refuse(entries, error);
        if (trouble === "connection") {
          await session?.end();
          session = null;
        } else sent = null;
        stats.retries += 1;
        log("debug", "A commit is tried again", { attempt, units: units.length, trouble });
        if (await database.pause(startedMs, attempt)) continue;
        const fate = sent ? "Whether it was stored is unknown" : "Nothing was stored";
        return reject(entries, storeFailed(`The database stayed away during a write. ${fate}`, error, url));
      }
    }
  };

  const refuse = async (entries: readonly Entry[], error: unknown): Promise<void> => {
    if (entries.length <= 1) return reject(entries, storeFailed("The database refused a write", error, url));
    const half = Math.ceil(entries.length / 2);
    await commitAll(entries.slice(0, half));
    await commitAll(entries.slice(half));
  };

  const run = async (): Promise<void> => {
    // Everything that this turn of the event loop brings goes into the first batch.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const { batch, rest } = takeBatch(waiting, limits);
      waiting = rest;
      for (const entry of batch) waitingBytes -= entry.bytes;
      await commitAll(batch);
    }
    running = null;
  };

  return {
    stats,
    get waiting() {
      return waiting.length;
    },
    submit(unit) {
      const bytes = bytesOf(unit);
      const full =
        waiting.length >= GROUP_COMMIT_LIMITS.maxWaitingUnits ||
        (waiting.length > 0 && waitingBytes + bytes > GROUP_COMMIT_LIMITS.maxWaitingBytes);
      if (closed || full) {
        const why = closed ? "The store is closed" : "Too many writes wait for the database";
        return Promise.reject(new HoldfastError("STORE_FAILED", `${why}. Nothing was stored.`));
      }
      const entry: Entry = { unit, bytes, done: deferred<UnitOutcome>() };
      waiting.push(entry);
      waitingBytes += bytes;
      running ??= run();
      return entry.done.promise;
    },
    async drain(timeoutMs) {
      const end = new AbortController();
      const idle = (async () => {
        while (running) await running;
        end.abort();
      })();
      await Promise.race([idle, sleep(timers, timeoutMs, end.signal)]);
    },
    async close() {
      closed = true;
      const left = waiting;
      waiting = [];
      reject(left, new HoldfastError("STORE_FAILED", "The store was closed before the write. Nothing was stored."));
      await session?.end();
    },
  };
}

function count(stats: CommitStats, { type, outcome }: UnitOutcome): void {
  if (type === "intake") return;
  if (!outcome.won) {
    if (outcome.why === "stale") stats.staleWrites += 1;
    return;
  }
  for (const fresh of outcome.inserted) {
    if (fresh) stats.logRows += 1;
    else stats.duplicateRows += 1;
  }
}

const ROW_BYTES = 250;

function bytesOf(unit: Unit): number {
  if (unit.type === "intake") {
    const { event, runs } = unit.item;
    const logs = runs.flatMap((entry) => entry.log);
    return logs.reduce((sum, row) => sum + row.dataJson.length + ROW_BYTES, event.payloadJson.length + ROW_BYTES);
  }
  const { log, head } = unit.transition;
  const headBytes = (head?.outputJson?.length ?? 0) + (head?.errorJson?.length ?? 0);
  return log.reduce((sum, row) => sum + row.dataJson.length + ROW_BYTES, headBytes + ROW_BYTES);
}
