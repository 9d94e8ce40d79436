/**
 * Notices that the database has forgotten what it had acknowledged to this writer, as after a failover, and sends again
 * what is still in memory (docs/decisions/0103). What is sent, and what became of it, is `Resend`'s, in the store's rules.
 */
import { sleep } from "@holdfast/core";
import {
  type AcknowledgedLimits,
  AcknowledgedUnits,
  type BatchLimits,
  type CommitsLost,
  type Forgotten,
  type HistoryLoss,
  type LostRun,
  lossNote,
  Resend,
  type Unit,
  type UnitOutcome,
} from "@holdfast/store";
import type { Database, Statement } from "../connection/database.ts";
import { ConnectionLost, troubleOf } from "../connection/pg-errors.ts";
import { readServerIdentity, serverText } from "../connection/server-identity.ts";
import type { WriterSession } from "../connection/writer-session.ts";
import { type CommitHooks, commitBatch, recoverBatch, type SentBatch } from "./commit.ts";
import { READ_MARK } from "./sql.ts";

/** Marks are removed a week after their last batch. */
const MARK_KEPT_MS = 6 * 24 * 60 * 60_000;
/** What rests on writes of other gateways waits so long for these to be sent again. */
const PATIENCE_MS = 5_000;
const PAUSE_MS = 100;
const RESEND_LIMITS = { maxUnits: 128, maxBytes: 8 * 1024 * 1024 } as const satisfies BatchLimits;
const ONE = { maxUnits: 1, maxBytes: 1 } as const satisfies BatchLimits;
const MAX_NAMED = 1_000;
const MAX_IN_LINE = 20;
/**
 * Numbers of log rows that were given out before are not given out again: what gateways have read says up to which number
 * they have seen a log. More than the writes of minutes; readers of the log bear four thousand times as many.
 */
const SKIP_NUMBERS = `SELECT setval('holdfast.run_log_seq',
  GREATEST((SELECT last_value FROM holdfast.run_log_seq), $1::bigint) + 67108864)`;

export interface LossStats {
  lostBatches: number;
  lostWrites: number;
  restoredWrites: number;
  incompleteRuns: number;
}

export interface HistoryParts {
  readonly database: Database;
  readonly writerId: string;
  readonly limits: AcknowledgedLimits;
  readonly hooks: Omit<CommitHooks, "onSent">;
  readonly stats: LossStats;
  /** Numbers of batches are never used twice. */
  readonly nextBatch: () => number;
  /** Claims that the database may have forgotten, too. */
  readonly claims: () => Statement | null;
  readonly onLoss: (loss: HistoryLoss) => void;
}

/**
 * HISTORY-1. On each new connection, before anything else is written, the mark that the database has of this writer is
 *     compared with the last one that was acknowledged.
 * HISTORY-2. What batches after it had written is written again as far as it is in memory, in its order, and before
 *     anything new; the rest is named, run by run.
 * HISTORY-3. A connection that breaks meanwhile loses nothing of it: what was not restored is sent over the next one.
 */
export class History {
  readonly #parts: HistoryParts;
  readonly #acknowledged: AcknowledgedUnits;
  #last = { batch: 0, atMs: 0 };
  #resend: Resend | null = null;
  /** The part of it whose fate is unknown. */
  #sent: { readonly batch: SentBatch; readonly units: readonly Unit[] } | null = null;
  #lostBatches = 0;
  #losses = 0;
  #lost: CommitsLost | null = null;
  #maxSeq = 0;
  #isForgetful = false;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#acknowledged = new AcknowledgedUnits(parts.limits);
  }

  /** What was lost last; null: nothing was. */
  get lost(): CommitsLost | null {
    return this.#lost;
  }

  acknowledge(
    batch: number,
    entries: readonly { readonly unit: Unit; readonly bytes: number }[],
    outcomes: readonly UnitOutcome[],
  ): void {
    const atMs = this.#parts.database.options.monotonicMs();
    this.#last = { batch, atMs };
    for (const { outcome } of outcomes) {
      if ("seq" in outcome && outcome.seq !== null && outcome.seq > this.#maxSeq) this.#maxSeq = outcome.seq;
    }
    this.#acknowledged.add(batch, atMs, entries, outcomes);
  }

  /** On a new connection, before anything is written. */
  async compare(session: WriterSession): Promise<void> {
    const { monotonicMs, log } = this.#parts.database.options;
    const { server: known, availability } = this.#parts.database;
    const server = await session.guard(readServerIdentity(session.query));
    const relation = known.relationOf(server);
    if (relation === "earlier") throw new ConnectionLost(known.refusalOf(server));
    if (relation === "other" && known.identity) {
      log("warn", `The database is another server now: ${serverText(server)}; it was ${serverText(known.identity)}.`);
      availability.recordMoved();
    }
    known.set(server);
    if (this.#last.batch > 0 && monotonicMs() - this.#last.atMs <= MARK_KEPT_MS) await this.#compareMark(session);
    if (this.#resend) await this.#sendAgain(session, this.#resend);
  }

  async #compareMark(session: WriterSession): Promise<void> {
    const { writerId, database, stats } = this.#parts;
    const [row] = await session.guard(session.query<{ batch: number }>(READ_MARK, [writerId]));
    const stored = Number(row?.batch ?? 0);
    const lost = this.#last.batch - stored;
    if (lost <= 0) return;
    this.#last = { ...this.#last, batch: stored };
    const forgotten = this.#acknowledged.takeAfter(stored);
    this.#lostBatches += lost;
    stats.lostBatches += lost;
    stats.lostWrites += forgotten.units.length + forgotten.named;
    this.#resend = resumed(this.#resend, forgotten);
    this.#losses += 1;
    database.availability.recordMoved();
    const writes = this.#resend.pending.length + forgotten.named;
    this.#lost = {
      atMs: Date.now(),
      batches: this.#lostBatches,
      writes,
      restored: 0,
      runs: 0,
      incomplete: [],
      isOver: false,
    };
    const what = lost === 1 ? "A commit that it had acknowledged is" : `${lost} commits that it had acknowledged are`;
    const { length } = forgotten.units;
    const rest = forgotten.named > 0 ? `; ${forgotten.named} more are not in memory any more` : "";
    database.options.log(
      "error",
      `COMMITS_LOST: the database has gone back, as after a failover. ${what} gone. Their ${length} writes that are in memory are sent again${rest}. Synchronous replication prevents it (docs/failover.md).`,
      { code: "COMMITS_LOST", lostBatches: lost, writes: length, notInMemory: forgotten.named },
    );
  }

  async #sendAgain(session: WriterSession, resend: Resend): Promise<void> {
    const { monotonicMs, timers } = this.#parts.database.options;
    await session.guard(session.query(SKIP_NUMBERS, [this.#maxSeq]));
    await this.#recover(session, resend);
    let movedMs = monotonicMs();
    while (resend.pending.length > 0) {
      const batch = resend.next(this.#isForgetful ? ONE : RESEND_LIMITS);
      if (batch.length > 0) {
        const before = resend.restored;
        await this.#commit(session, resend, batch);
        if (resend.restored > before) movedMs = monotonicMs();
        continue;
      }
      if (monotonicMs() - movedMs > PATIENCE_MS) {
        if (!resend.loosen()) break;
        continue;
      }
      resend.unblock();
      await session.guard(sleep(timers, PAUSE_MS));
    }
    resend.giveUp();
    const claims = this.#parts.claims();
    if (claims) await session.guard(session.query(claims.text, claims.params));
    const runs = resend.runs();
    await this.#note(session, runs);
    this.#finish(resend, runs);
  }

  /** A transaction of before whose connection broke may have been committed. */
  async #recover(session: WriterSession, resend: Resend): Promise<void> {
    const sent = this.#sent;
    this.#sent = null;
    if (!sent) return;
    const outcomes = await recoverBatch(session, this.#parts.writerId, sent.batch, sent.units);
    if (outcomes) this.#settle(resend, sent.batch.number, outcomes);
  }

  async #commit(session: WriterSession, resend: Resend, batch: readonly { readonly unit: Unit }[]): Promise<void> {
    const units = batch.map(({ unit }) => unit);
    const number = this.#parts.nextBatch();
    try {
      const outcomes = await this.#write(session, number, units, true);
      this.#settle(resend, number, outcomes);
    } catch (error) {
      switch (troubleOf(error)) {
        case "data":
          this.#sent = null;
          // Refused: each by itself, so that one does not take the others along.
          if (units.length === 1) resend.settle([]);
          this.#isForgetful = true;
          return;
        case "conflict":
          this.#sent = null;
          return;
        default:
          throw error;
      }
    }
  }

  #write(
    session: WriterSession,
    batch: number,
    units: readonly Unit[],
    isKept: boolean,
  ): Promise<readonly UnitOutcome[]> {
    const { writerId, hooks } = this.#parts;
    const onSent = (sent: SentBatch): void => {
      if (isKept) this.#sent = { batch: sent, units };
    };
    return commitBatch(session, { writerId, batch }, units, { ...hooks, onSent });
  }

  #settle(resend: Resend, number: number, outcomes: readonly UnitOutcome[]): void {
    this.#sent = null;
    const tried = resend.tried;
    resend.settle(outcomes);
    this.acknowledge(number, tried, outcomes);
  }

  /** Each run says that something of it was lost. A note that cannot be written is only missing. */
  async #note(session: WriterSession, runs: readonly LostRun[]): Promise<void> {
    const { writerId, database, nextBatch } = this.#parts;
    const id = { key: writerId, number: this.#losses };
    for (let from = 0; from < runs.length; from += RESEND_LIMITS.maxUnits) {
      const units = runs.slice(from, from + RESEND_LIMITS.maxUnits).map((run) => lossNote(run, id));
      const number = nextBatch();
      try {
        const outcomes = await this.#write(session, number, units, false);
        this.acknowledge(
          number,
          units.map((unit) => ({ unit, bytes: 250 })),
          outcomes,
        );
      } catch (error) {
        if (troubleOf(error) === "connection" || troubleOf(error) === "unwritable") throw error;
        database.options.log("debug", "Runs could not be marked as having lost commits.");
      }
    }
  }

  #finish(resend: Resend, runs: readonly LostRun[]): void {
    const { database, stats, onLoss } = this.#parts;
    const incomplete = runs.filter(({ writes, restored }) => restored < writes);
    this.#resend = null;
    this.#isForgetful = false;
    stats.restoredWrites += resend.restored;
    stats.incompleteRuns += incomplete.length;
    const ids = incomplete.slice(0, MAX_NAMED).map(({ runId }) => runId);
    const told = { restored: resend.restored, runs: runs.length, incompleteRuns: incomplete.length, runIds: ids };
    const rest =
      incomplete.length === 0
        ? "nothing of them is missing."
        : `of ${incomplete.length} something is missing, whose steps may run again: ${ids.slice(0, MAX_IN_LINE).join(", ")}${incomplete.length > MAX_IN_LINE ? ", …" : ""}`;
    const level = incomplete.length === 0 ? "warn" : "error";
    database.options.log(
      level,
      `COMMITS_LOST: ${resend.restored} writes of ${runs.length} runs were sent again; ${rest}`,
      {
        code: "COMMITS_LOST",
        ...told,
      },
    );
    if (this.#lost) {
      const { restored, runs: count } = told;
      this.#lost = { ...this.#lost, restored, runs: count, incomplete: ids, isOver: true };
    }
    this.#lostBatches = 0;
    database.availability.recordMoved();
    onLoss({ runs, incomplete });
  }
}

/** What was under way, and what has been forgotten meanwhile, which came before. */
function resumed(before: Resend | null, { units, runIds }: Forgotten): Resend {
  return new Resend([...units, ...(before?.pending ?? [])], runIds);
}
