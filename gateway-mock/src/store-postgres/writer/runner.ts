/**
 * Carries a batch through whatever happens to it: conflicts, refused data, lost connections, databases that take no
 * writes.
 */
import { HoldfastError } from "@holdfast/core";
import {
  type CommitHistograms,
  commitHistograms,
  createOptimisticBackoff,
  type Unit,
  type UnitOutcome,
} from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { storeFailed, troubleOf } from "../connection/pg-errors.ts";
import { type CommitHooks, commitBatch, recoverBatch, type SentBatch } from "./commit.ts";
import { type Remembering, WriterConnections } from "./writer-connections.ts";

/** Without a connection of the writer's for so long it is asked whether anything can be written at all. */
const NO_CONNECTION_MS = 2_000;
/** So often a batch may be refused as if nothing could be written, while something can. */
const MAX_OWN_FAULTS = 3;
/** A unit that waits for its outcome. */
export interface Entry {
  readonly unit: Unit;
  readonly bytes: number;
  /** How many losses there had been when it was decided. */
  readonly bornAfter: number;
  /** One of these two is called, once. */
  readonly settle: (outcome: UnitOutcome) => void;
  readonly reject: (error: HoldfastError) => void;
}

export interface CommitStats {
  batches: number;
  /** Of these, in one round trip. */
  optimistic: number;
  units: number;
  statements: number;
  logRows: number;
  staleWrites: number;
  duplicateRows: number;
  retries: number;
  /** Acknowledged, and not there any more after a new connection. */
  lostBatches: number;
  /** Writes of these, and those that were sent again and are there. */
  lostWrites: number;
  restoredWrites: number;
  /** Runs that had writes among them which could not be sent again. */
  incompleteRuns: number;
  /** Of batches that were committed, from their first statement to the answer. */
  busyMs: number;
  readonly histograms: CommitHistograms;
}

export interface BatchRunner {
  readonly stats: Readonly<CommitStats>;
  /** Used by `run`; not to be opened while that is under way. */
  readonly connections: WriterConnections;
  /** Settles every entry; never rejects. One call at a time. */
  run(entries: readonly Entry[]): Promise<void>;
}

/**
 * Carries one batch after the other to its end, over as many connections as that takes.
 *
 * RUNNER-1. One batch at a time, so the mark of the last one is the mark of the only one whose fate can be unknown.
 * RUNNER-2. A batch that the server refuses for its data is split in halves until the culprit stands alone and fails
 *     alone.
 * RUNNER-3. A batch undone by a deadlock, a serialization failure or a timeout is tried again as it is.
 * RUNNER-4. After a lost connection: COMMIT was not sent: try again. It was sent: read the mark. Ours: it was
 *     committed, and its outcomes are those that were planned under its locks (fences, versions, event keys and new
 *     facts were decided then, so a version that the batch itself raised cannot turn its own retry away). Not ours: it
 *     was not committed, try again.
 * RUNNER-5. A batch that is rejected as if nothing could be written (disk full, read-only) is retried as after a lost
 *     connection, as long as a write of the database's own is rejected too; when that one succeeds the batch itself is
 *     at fault.
 * RUNNER-7. A database that does not have the mark of a batch which it acknowledged has gone back, as a standby does that
 *     had not received it: that is logged as `COMMITS_LOST` and counted, and what is in memory is sent again before
 *     anything else is written (`History`).
 * RUNNER-8. What was decided before a loss on a run that is not whole again is turned away as decided on an old version.
 * RUNNER-6. Every unit is settled, at the latest `retryForMs` after its batch began (plus the limit of one last try).
 */
export function createBatchRunner(database: Database, writerId: string, remembering: Remembering): BatchRunner {
  const { monotonicMs, url, log } = database.options;
  const { availability } = database;
  const stats = newStats();
  const backoff = createOptimisticBackoff();
  const connections = new WriterConnections({ database, writerId, remembering, stats, backoff });

  /** Settles those that were decided on what is gone, and returns the others. */
  const trusted = (all: readonly Entry[]): readonly Entry[] =>
    all.filter((entry) => {
      if (!connections.isDistrusted(entry)) return true;
      entry.settle({ type: "transition", outcome: { won: false, why: "version" } });
      return false;
    });

  const run = async (all: readonly Entry[]): Promise<void> => {
    let entries = all;
    let units = entries.map((entry) => entry.unit);
    const startedMs = monotonicMs();
    const last: { sent: SentBatch | null } = { sent: null };
    let ownFaults = 0;
    const onSent = (batch: SentBatch): void => {
      last.sent = batch;
    };
    const hooks: CommitHooks = { onSent, stats, backoff };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const on = await connections.open();
        const { sent } = last;
        const recovered = sent && (await recoverBatch(on, writerId, sent, units));
        if (sent && recovered) return settle(entries, recovered, stats, connections, sent.number);
        last.sent = null;
        entries = trusted(entries);
        units = entries.map((entry) => entry.unit);
        if (units.length === 0) return;
        const batch = connections.nextBatch();
        const beganMs = monotonicMs();
        const outcomes = await database.attended(commitBatch(on, { writerId, batch }, units, hooks));
        const tookMs = monotonicMs() - beganMs;
        stats.busyMs += tookMs;
        stats.histograms.seconds.observe(tookMs / 1000);
        stats.histograms.units.observe(units.length);
        availability.recordCommit(tookMs);
        availability.recordWrite();
        return settle(entries, outcomes, stats, connections, batch);
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble === "data") return refuse(entries, error);
        availability.recordTrouble(error, trouble);
        if (trouble === "conflict") last.sent = null;
        else await connections.end();
        // Other connections may be given, as at the server's limit: what they read says nothing of writes.
        if (trouble === "connection" && monotonicMs() - startedMs > NO_CONNECTION_MS) database.suspectWrites();
        stats.retries += 1;
        if (trouble === "unwritable" && (await database.acceptsWrites())) ownFaults += 1;
        if (ownFaults >= MAX_OWN_FAULTS) return refuse(entries, error);
        log("debug", "Retrying a commit", { attempt, units: units.length, trouble });
        if (await database.waitToRetry(startedMs, attempt)) continue;
        const fate = last.sent ? "Whether it was stored is unknown" : "Nothing was stored";
        return reject(entries, storeFailed(`The database was unavailable during a write. ${fate}`, error, url));
      }
    }
  };

  const refuse = async (entries: readonly Entry[], error: unknown): Promise<void> => {
    if (entries.length <= 1) return reject(entries, storeFailed("The database rejected a write", error, url));
    const half = Math.ceil(entries.length / 2);
    await run(entries.slice(0, half));
    await run(entries.slice(half));
  };

  return { stats, connections, run };
}

const newStats = (): CommitStats => ({
  batches: 0,
  optimistic: 0,
  units: 0,
  statements: 0,
  logRows: 0,
  staleWrites: 0,
  duplicateRows: 0,
  retries: 0,
  lostBatches: 0,
  lostWrites: 0,
  restoredWrites: 0,
  incompleteRuns: 0,
  busyMs: 0,
  histograms: commitHistograms(),
});

export function reject(entries: readonly Entry[], error: HoldfastError): void {
  for (const entry of entries) entry.reject(error);
}

function settle(
  entries: readonly Entry[],
  outcomes: readonly UnitOutcome[],
  stats: CommitStats,
  connections: WriterConnections,
  batch: number,
): void {
  connections.acknowledge(batch, entries, outcomes);
  stats.batches += 1;
  stats.units += entries.length;
  for (const [index, entry] of entries.entries()) {
    const outcome = outcomes[index];
    if (!outcome) {
      entry.reject(new HoldfastError("INTERNAL", "A commit has no outcome."));
      continue;
    }
    count(stats, outcome);
    entry.settle(outcome);
  }
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
