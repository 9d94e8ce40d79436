/**
 * How a store in this process reaches the tables: in later turns of the event loop, the writes of one turn as a
 * batch. The simulation has another access, which is slow and fails.
 */
import { deferred, HoldfastError, messageOf } from "@holdfast/core";
import { notVirtual, StoreError } from "../port/errors.ts";
import type { StoreStats } from "../port/reads.ts";
import { commitHistograms } from "../rules/commit-histograms.ts";
import type { Unit, UnitOutcome } from "../rules/plan.ts";
import { takeBatch } from "../rules/take-batch.ts";
import type { TableAccess } from "./store-on-tables.ts";
import type { Tables } from "./tables.ts";

/** Runs `task` in a later turn of the event loop. */
export type Soon = (task: () => void) => void;

/** What one store has of its database beside the tables: the other stores, and time. */
export interface Surroundings extends Pick<TableAccess, "onWake" | "notify"> {
  /** Moves time on for all stores; null where time is real. */
  readonly skip: ((ms: number) => void) | null;
  close(): void;
}

interface Waiting {
  readonly unit: Unit;
  readonly bytes: number;
  readonly done: ReturnType<typeof deferred<UnitOutcome>>;
}

const NO_LOSSES = { lostBatches: 0, lostWrites: 0, restoredWrites: 0, incompleteRuns: 0 } as const;

const BATCH = { maxUnits: 128, maxBytes: Number.POSITIVE_INFINITY } as const;

/**
 * One store's way to the tables of its process. Calls take effect in their order and in a later turn, so no caller is
 * answered before the call has returned, and sockets have their turns between. Writes of one turn are a batch.
 */
export class DirectAccess implements TableAccess {
  readonly #tables: Tables;
  readonly #soon: Soon;
  readonly #around: Surroundings;
  #tasks: (() => void)[] = [];
  #waiting: Waiting[] = [];
  #isClosed = false;
  readonly #histograms = commitHistograms();
  readonly #stats = { batches: 0, transitions: 0, logRows: 0, staleWrites: 0, duplicateRows: 0 };

  constructor(tables: Tables, soon: Soon, around: Surroundings) {
    this.#tables = tables;
    this.#soon = soon;
    this.#around = around;
  }

  call<T>(apply: () => T): Promise<T> {
    const { promise, resolve, reject } = deferred<T>();
    this.#later(() => {
      try {
        resolve(this.#tables.atOneMoment(apply));
      } catch (error) {
        reject(asStoreError(error));
      }
    }, reject);
    return promise;
  }

  submit(unit: Unit): Promise<UnitOutcome> {
    const done = deferred<UnitOutcome>();
    if (!this.#isClosed) this.#waiting.push({ unit, bytes: 0, done });
    this.#later(() => this.#commitAll(), done.reject);
    return done.promise;
  }

  stats(): StoreStats {
    const { batches, transitions, logRows, staleWrites, duplicateRows } = this.#stats;
    const none = { optimisticBatches: 0, statements: 0, batchRetries: 0, ...NO_LOSSES, commitMs: 0 };
    const queued = this.#waiting.length;
    const { seconds, units } = this.#histograms;
    const histograms = { commitSeconds: seconds.read(), commitUnits: units.read() };
    return { ...none, ...histograms, batches, transitions, logRows, staleWrites, duplicateRows, queued };
  }

  onWake(listener: Parameters<TableAccess["onWake"]>[0]): () => void {
    return this.#around.onWake(listener);
  }

  /** It forgets nothing while its process lives. */
  onLoss(): () => void {
    return () => {};
  }

  notify(wake: Parameters<TableAccess["notify"]>[0]): void {
    this.#around.notify(wake);
  }

  skipTime(ms: number): Promise<number> {
    const { skip } = this.#around;
    if (!skip) return Promise.reject(notVirtual());
    return this.call(() => skip(ms)).then(() => this.call(() => this.#tables.nowMs));
  }

  /** What was called before is done first. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    const done = this.call(() => {});
    this.#isClosed = true;
    await done;
    this.#around.close();
  }

  #later(task: () => void, reject: (error: HoldfastError) => void): void {
    if (this.#isClosed) {
      reject(new StoreError("closed", "The store is closed. Nothing was stored."));
      return;
    }
    this.#tasks.push(task);
    if (this.#tasks.length === 1) this.#soon(() => this.#runTasks());
  }

  #runTasks(): void {
    const tasks = this.#tasks;
    this.#tasks = [];
    for (const task of tasks) task();
  }

  /** Everything that was submitted so far. */
  #commitAll(): void {
    while (this.#waiting.length > 0) {
      const { batch, rest } = takeBatch(this.#waiting, BATCH);
      this.#waiting = rest;
      try {
        const outcomes = this.#tables.commit(batch.map(({ unit }) => unit));
        for (const [index, { done }] of batch.entries()) settle(done, outcomes[index] ?? null);
        this.#count(outcomes);
      } catch (error) {
        for (const { done } of batch) done.reject(asStoreError(error));
      }
    }
  }

  #count(outcomes: readonly (UnitOutcome | null)[]): void {
    const stats = this.#stats;
    stats.batches += 1;
    stats.transitions += outcomes.length;
    this.#histograms.units.observe(outcomes.length);
    this.#histograms.seconds.observe(0);
    for (const one of outcomes) {
      if (one?.type !== "transition") continue;
      if (!one.outcome.won) {
        if (one.outcome.why === "stale") stats.staleWrites += 1;
        continue;
      }
      const fresh = one.outcome.inserted.filter(Boolean).length;
      stats.logRows += fresh;
      stats.duplicateRows += one.outcome.inserted.length - fresh;
    }
  }
}

function settle(done: Waiting["done"], outcome: UnitOutcome | null): void {
  if (outcome) done.resolve(outcome);
  else done.reject(new StoreError("data", "Something of this id is stored already. Nothing was stored."));
}

const asStoreError = (error: unknown): HoldfastError =>
  HoldfastError.is(error)
    ? error
    : new StoreError("other", `The memory store failed: ${messageOf(error)}. Nothing was stored.`, { cause: error });
