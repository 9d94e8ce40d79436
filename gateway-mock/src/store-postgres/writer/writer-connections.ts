/**
 * The connections of a writer, one after the other: on each the database is compared with what it has acknowledged before
 * anything else is written.
 */
import type {
  AcknowledgedLimits,
  CommitsLost,
  HistoryLoss,
  OptimisticBackoff,
  Unit,
  UnitOutcome,
} from "@holdfast/store";
import { comparesBeside, type Database, type Statement } from "../connection/database.ts";
import { ConnectionLost, isAtLimit } from "../connection/pg-errors.ts";
import { openWriterSession, type WriterSession } from "../connection/writer-session.ts";
import { History, type LossStats } from "./history.ts";
import { ENTER_WRITER } from "./sql.ts";

/** What a writer keeps of what it has acknowledged, and who hears of it when the database has forgotten some of it. */
export interface Remembering {
  readonly limits: AcknowledgedLimits;
  /** Claims that the database may have forgotten, too. */
  readonly restoreClaims: () => Statement | null;
  readonly onLoss: (loss: HistoryLoss) => void;
}

export interface WriterConnectionsParts {
  readonly database: Database;
  readonly writerId: string;
  readonly remembering: Remembering;
  readonly stats: LossStats & { statements: number; optimistic: number };
  readonly backoff: OptimisticBackoff;
}

/** What was decided, and after how many losses. */
interface Decided {
  readonly unit: Unit;
  readonly bornAfter: number;
}

/** A connection on which nothing has been asked yet, and how many doubts there were when it was opened. */
interface Connected {
  readonly session: WriterSession;
  readonly doubts: number;
}

export class WriterConnections {
  readonly #parts: WriterConnectionsParts;
  readonly #history: History;
  #session: WriterSession | null = null;
  /** For the next comparison. */
  #next: Connected | null = null;
  #preparing: Promise<void> | null = null;
  #batchNumber = 0;
  /** Doubts that the last comparison has settled. */
  #settledDoubts = 0;
  #isOpened = false;
  #isClosed = false;
  #losses = 0;
  /** By run that is not whole: the loss. */
  readonly #distrusted = new Map<string, number>();

  constructor(parts: WriterConnectionsParts) {
    this.#parts = parts;
    const { database, writerId, remembering, stats, backoff } = parts;
    this.#history = new History({
      database,
      writerId,
      limits: remembering.limits,
      hooks: { stats, backoff },
      stats,
      nextBatch: () => this.nextBatch(),
      claims: () => remembering.restoreClaims(),
      onLoss: (loss) => {
        this.#losses += 1;
        for (const { runId } of loss.incomplete) this.#distrusted.set(runId, this.#losses);
        remembering.onLoss(loss);
      },
    });
  }

  /** Rejects with the driver's error. */
  async open(): Promise<WriterSession> {
    if (this.#session?.alive) return this.#session;
    this.#session = null;
    return await this.#enter(this.#takeNext() ?? (await this.#connect()));
  }

  /**
   * Connects anew while the connection that is there goes on: a database that gives no new one may still take writes on
   * that. Without one there is nothing to prepare. Rejects with the driver's error.
   */
  async prepare(): Promise<void> {
    if (!this.#session?.alive || !comparesBeside(this.#parts.database.options)) return;
    this.#preparing ??= this.#prepareNext().finally(() => {
      this.#preparing = null;
    });
    await this.#preparing;
  }

  async #prepareNext(): Promise<void> {
    await this.#takeNext()?.session.end();
    try {
      const next = await this.#connect();
      if (this.#isClosed) await next.session.end();
      else this.#next = next;
    } catch (error) {
      // No place for a second one: that of the first will do.
      if (!isAtLimit(error)) throw error;
    }
  }

  /** Compares over a new connection, unless it is sure already. Rejects with the driver's error. */
  async verify(): Promise<void> {
    const next = this.#takeNext();
    if (this.isSure) return void (await next?.session.end());
    if (!next) {
      await this.#session?.end();
      await this.open();
      return;
    }
    const before = this.#session;
    await this.#enter(next);
    await before?.end();
  }

  /** Doubts that come up from now on are not settled by it. */
  async #connect(): Promise<Connected> {
    const { database } = this.#parts;
    const doubts = database.doubts.count;
    return { session: await openWriterSession(database, database.options.timers), doubts };
  }

  #takeNext(): Connected | null {
    const next = this.#next;
    this.#next = null;
    return next?.session.alive ? next : null;
  }

  async #enter({ session, doubts }: Connected): Promise<WriterSession> {
    try {
      await session.guard(session.query(ENTER_WRITER, [this.#parts.writerId]));
      await this.#history.compare(session);
    } catch (error) {
      await session.end();
      throw error;
    }
    if (this.#isClosed) {
      await session.end();
      throw new ConnectionLost("The store is closed");
    }
    this.#settledDoubts = doubts;
    this.#isOpened = true;
    this.#session = session;
    return session;
  }

  /** No connection has ended since the database was last compared with what it had acknowledged. */
  get isSure(): boolean {
    const isSettled = this.#settledDoubts === this.#parts.database.doubts.count;
    return isSettled && (!this.#isOpened || this.#session?.alive === true);
  }

  get lost(): CommitsLost | null {
    return this.#history.lost;
  }

  /** How often the database had forgotten something. */
  get losses(): number {
    return this.#losses;
  }

  /** Each number is given once. */
  nextBatch(): number {
    this.#batchNumber += 1;
    return this.#batchNumber;
  }

  acknowledge(
    batch: number,
    entries: readonly { readonly unit: Unit; readonly bytes: number }[],
    outcomes: readonly UnitOutcome[],
  ): void {
    this.#history.acknowledge(batch, entries, outcomes);
  }

  /** Whether it was decided on a version of a run that may have been another one. */
  isDistrusted({ unit, bornAfter }: Decided): boolean {
    if (unit.type !== "transition" || typeof unit.transition.cas !== "number") return false;
    return bornAfter < (this.#distrusted.get(unit.transition.runId) ?? 0);
  }

  /** None is opened any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end();
  }

  async end(): Promise<void> {
    await Promise.all([this.#session?.end(), this.#takeNext()?.session.end()]);
  }
}
