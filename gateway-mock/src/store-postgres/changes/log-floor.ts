/**
 * Owns the number below which no row of the log is still to come. Numbers are taken before their transactions commit: a
 * number is settled once every transaction has ended that was writing to the log when a higher one was taken. Readers
 * look for rows above it only; that each row is read once does not depend on it.
 */
import { sleep, type Timers } from "@holdfast/core";
import type { Query } from "../connection/query.ts";

/**
 * The last number, and then who writes: the second is asked for once the first is known. An insert locks the table before
 * it takes a number, and holds the lock until it ends.
 */
const LOOK = `SELECT q.last::float8 AS last, w.writers FROM (SELECT last_value AS last FROM holdfast.run_log_seq) q
CROSS JOIN LATERAL (SELECT COALESCE(string_agg(DISTINCT l.virtualtransaction, ' '), '') AS writers FROM pg_locks l
  WHERE q.last > 0 AND l.locktype = 'relation' AND l.relation = 'holdfast.run_log'::regclass AND l.mode = 'RowExclusiveLock') w`;

interface Look {
  readonly last: number;
  readonly writers: string;
}

/** How often it is looked, while the log is read. */
const LOOK_MS = 1_000;
const FIRST_LOOK_MS = 5;
const FIRST_PATIENCE_MS = 2_000;
/**
 * What a transaction that is still open can have taken at most: one that does nothing is ended by the server, and so is
 * one that takes too long, long before a million others have come and gone.
 */
const NUMBERS_OF_OPEN = 2 ** 20 * 1024;

export interface FloorOptions {
  readonly query: Query;
  readonly timers: Timers;
  readonly monotonicMs: () => number;
}

export class LogFloor {
  readonly #options: FloorOptions;
  #floor = 0;
  /** The number that is to be the floor, and who was writing when it was read. */
  #next: { readonly last: number; readonly writers: ReadonlySet<string> } | null = null;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: FloorOptions) {
    this.#options = options;
  }

  /** As known, looked up again now and then. What is read after this was answered may begin there. */
  async current(): Promise<number> {
    if (this.#options.monotonicMs() - this.#lookedMs >= LOOK_MS) await this.#look();
    return this.#floor;
  }

  /** Close to the end of the log, however long nothing was asked. */
  async fresh(): Promise<number> {
    const { monotonicMs, timers } = this.#options;
    const startedMs = monotonicMs();
    this.#next = null;
    const { last } = await this.#look();
    while (this.#floor < last && monotonicMs() - startedMs < FIRST_PATIENCE_MS) {
      await sleep(timers, FIRST_LOOK_MS);
      await this.#look();
    }
    this.#floor = Math.max(this.#floor, last - NUMBERS_OF_OPEN);
    return this.#floor;
  }

  async #look(): Promise<Look> {
    this.#lookedMs = this.#options.monotonicMs();
    const [row] = await this.#options.query<Look>(LOOK);
    const last = Number(row?.last ?? 0);
    const writers = new Set(row?.writers ? row.writers.split(" ") : []);
    if (writers.size === 0) this.#settle(last);
    else if (this.#next && [...this.#next.writers].every((one) => !writers.has(one))) this.#settle(this.#next.last);
    this.#next ??= { last, writers };
    return { last, writers: row?.writers ?? "" };
  }

  #settle(last: number): void {
    this.#floor = Math.max(this.#floor, last);
    this.#next = null;
  }
}
