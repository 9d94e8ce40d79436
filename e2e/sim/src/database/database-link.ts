/** A gateway's way to the simulated database: delays, refusals, and commits whose fate stays unknown to the gateway. */
import {
  commitHistograms,
  notVirtual,
  type Store,
  StoreError,
  type TableAccess,
  takeBatch,
  type Unit,
  type UnitOutcome,
  type Wake,
} from "@holdfast/store";

import { deferred, HoldfastError } from "../../../../packages/core/src/index.ts";
import type { Dice } from "../random.ts";
import type { Actor } from "../scheduler.ts";
import type { StoreConditions } from "./store-conditions.ts";
import type { Tables } from "./tables.ts";
import type { WakeChannel } from "./wake-channel.ts";

interface Waiting {
  readonly unit: Unit;
  readonly bytes: number;
  readonly done: ReturnType<typeof deferred<UnitOutcome>>;
}

const BATCH = { maxUnits: 128, maxBytes: 8 * 1024 * 1024 } as const;

/** A gateway's way to the database: delays, refusals, and a group commit whose fate may stay unknown. */
export class DatabaseLink implements TableAccess {
  readonly #tables: Tables;
  readonly #wakeChannel: WakeChannel;
  readonly #actor: Actor;
  readonly #dice: Dice;
  readonly #conditions: () => StoreConditions;
  #waiting: Waiting[] = [];
  #committing = false;

  constructor(tables: Tables, wakeChannel: WakeChannel, actor: Actor, dice: Dice, conditions: () => StoreConditions) {
    this.#tables = tables;
    this.#wakeChannel = wakeChannel;
    this.#actor = actor;
    this.#dice = dice;
    this.#conditions = conditions;
  }

  stats(): ReturnType<Store["stats"]> {
    const none = {
      transitions: 0,
      statements: 0,
      logRows: 0,
      staleWrites: 0,
      duplicateRows: 0,
      batchRetries: 0,
      lostBatches: 0,
      lostWrites: 0,
      restoredWrites: 0,
      incompleteRuns: 0,
    };
    const { seconds, units } = commitHistograms();
    const histograms = { commitSeconds: seconds.read(), commitUnits: units.read() };
    return { ...none, ...histograms, batches: 0, optimisticBatches: 0, queued: this.#waiting.length, commitMs: 0 };
  }

  onWake(listener: (wake: Wake) => void): () => void {
    this.#actor.scheduler.after(this.delayMs(), this.#actor, () => listener({ type: "ANYTHING" }));
    return this.#wakeChannel.listen(this.#actor, listener);
  }

  onLoss(): () => void {
    return () => {};
  }

  notify(wake: Wake): void {
    if (this.#actor.acts()) this.#wakeChannel.tell(this.#actor, wake, this.#dice, this.#conditions());
  }

  /** Time is the schedule's. */
  skipTime(): Promise<never> {
    return Promise.reject(notVirtual());
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Of an answer. */
  #backMs(): number {
    const waitMs = (this.#conditions().answersAtMs ?? 0) - this.#actor.scheduler.nowMs;
    return this.delayMs() + Math.max(0, waitMs);
  }

  delayMs(): number {
    const { latencyMs, spikeRate, spikeMs } = this.#conditions();
    return this.#dice.within(0.1, latencyMs) + (this.#dice.chance(spikeRate) ? this.#dice.within(0, spikeMs) : 0);
  }

  /** A statement: it takes effect at one moment, whether or not its caller lives to see the answer. */
  call<T>(apply: () => T): Promise<T> {
    const { promise, resolve, reject } = deferred<T>();
    if (!this.#actor.acts()) return promise;
    const conditions = this.#conditions();
    const { scheduler } = this.#actor;
    if (this.#dice.chance(conditions.failRate)) {
      scheduler.after(this.delayMs() + conditions.spikeMs, this.#actor, () => reject(refused("Nothing was stored")));
      return promise;
    }
    this.#reach(() => {
      const answer = answerOf(apply);
      scheduler.after(this.#backMs(), this.#actor, () => (answer.ok ? resolve(answer.value) : reject(answer.error)));
    });
    return promise;
  }

  submit(unit: Unit): Promise<UnitOutcome> {
    const done = deferred<UnitOutcome>();
    if (!this.#actor.alive) return done.promise;
    this.#waiting.push({ unit, bytes: 1, done });
    if (!this.#committing) {
      this.#committing = true;
      // Everything that this turn of the event loop brings goes into the first batch.
      this.#actor.soon(() => this.#commitNext());
    }
    return done.promise;
  }

  /** What has arrived at a server that is stalled is carried out when it goes on, in any order. */
  #reach(carryOut: () => void): void {
    const { scheduler } = this.#actor;
    const arrive = (): void => {
      const waitMs = this.#tables.stopsMs - scheduler.nowMs;
      if (waitMs > 0) scheduler.after(waitMs + this.#dice.within(0, 5), null, arrive);
      else carryOut();
    };
    scheduler.after(this.delayMs(), null, arrive);
  }

  /** The next transaction of the group commit: one at a time. */
  #commitNext(): void {
    if (this.#waiting.length === 0) {
      this.#committing = false;
      return;
    }
    const { batch, rest } = takeBatch(this.#waiting, BATCH);
    this.#waiting = rest;
    if (!this.#actor.acts()) return;
    const { scheduler } = this.#actor;
    const conditions = this.#conditions();
    const refusedEarly = this.#dice.chance(conditions.failRate);
    const inDoubt = this.#dice.chance(conditions.doubtRate);
    this.#reach(() => {
      const outcomes = refusedEarly ? [] : this.#tables.commit(batch.map(({ unit }) => unit));
      scheduler.after(this.#backMs(), this.#actor, () => {
        for (const [index, { done }] of batch.entries()) {
          const outcome = outcomes[index];
          if (inDoubt || !outcome)
            done.reject(refused(inDoubt ? "Whether it was stored is unknown" : "Nothing was stored"));
          else done.resolve(outcome);
        }
        this.#commitNext();
      });
    });
  }
}

type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

/** What the database refuses is an answer; anything else is a mistake of the model. */
function answerOf<T>(apply: () => T): Answer<T> {
  try {
    return { ok: true, value: apply() };
  } catch (error) {
    if (!HoldfastError.is(error)) throw error;
    return { ok: false, error };
  }
}

function refused(fate: string): StoreError {
  return new StoreError("unavailable", `The database was unavailable during a write. ${fate}.`);
}
