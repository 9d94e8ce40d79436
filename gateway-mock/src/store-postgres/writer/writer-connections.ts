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
import type { Database, Statement } from "../connection/database.ts";
import { ConnectionLost } from "../connection/pg-errors.ts";
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

export class WriterConnections {
  readonly #parts: WriterConnectionsParts;
  readonly #history: History;
  #session: WriterSession | null = null;
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
    const { database, writerId } = this.#parts;
    const doubts = database.doubts.count;
    const fresh = await openWriterSession(database, database.options.timers);
    try {
      await fresh.guard(fresh.query(ENTER_WRITER, [writerId]));
      await this.#history.compare(fresh);
    } catch (error) {
      await fresh.end();
      throw error;
    }
    if (this.#isClosed) {
      await fresh.end();
      throw new ConnectionLost("The store is closed");
    }
    this.#settledDoubts = doubts;
    this.#isOpened = true;
    this.#session = fresh;
    return fresh;
  }

  /** Compares over a new connection. Rejects with the driver's error. */
  async verify(): Promise<void> {
    await this.end();
    await this.open();
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
    await this.#session?.end();
  }
}
