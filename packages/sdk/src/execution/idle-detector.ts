/**
 * When the author's code has done all it can for now. A pass must not reply before that, and the only way to know is
 * to let microtasks and turns of the event loop go by.
 */
import { inNextTurn } from "@holdfast/core";
import { afterMicrotasks } from "./microtasks.ts";
import type { PassHost } from "./pass-host.ts";
import type { StepRecord } from "./step-record.ts";

/** Settles each step, in order, letting all that follows from one happen before the next. */
export class SettleQueue {
  readonly #host: Pick<PassHost, "settle" | "onSettled">;
  #records: StepRecord[] = [];
  #next = 0;
  #moving = false;

  constructor(host: Pick<PassHost, "settle" | "onSettled">) {
    this.#host = host;
  }

  get isIdle(): boolean {
    return !this.#moving;
  }

  add(record: StepRecord): void {
    if (this.#moving) return void this.#records.push(record);
    // Mostly the only one; a list that is pushed to begins with room for seventeen.
    this.#records = [record];
    this.#moving = true;
    afterMicrotasks(this.#move);
  }

  clear(): void {
    this.#records = [];
    this.#next = 0;
  }

  readonly #move = (): void => {
    const record = this.#records[this.#next];
    if (record === undefined) {
      this.clear();
      this.#moving = false;
      this.#host.onSettled();
      return;
    }
    this.#next += 1;
    afterMicrotasks(this.#move);
    this.#host.settle(record);
  };
}

const IDLE_TURNS = 2;

export interface IdleHost {
  /** Everything has happened that follows at once from the results that the handler was given. */
  readonly isSettled: boolean;
  /** Nothing new happened for a while. */
  onIdle(): void;
}

/** Notices that nothing new happened for two turns of the event loop. */
export class IdleDetector {
  readonly #host: IdleHost;
  #activity = 0;
  #isAwaited = false;
  #watching = false;

  constructor(host: IdleHost) {
    this.#host = host;
  }

  /** Something happened: the quiet turns are counted anew. */
  noteActivity(): void {
    this.#activity += 1;
  }

  /** Asks for one call of `onIdle`. */
  notifyWhenIdle(): void {
    this.#isAwaited = true;
    if (this.#watching) return;
    this.#watching = true;
    this.#watchTurn(this.#activity, 0);
  }

  stop(): void {
    this.#isAwaited = false;
  }

  #watchTurn(activity: number, idleTurns: number): void {
    inNextTurn(() => {
      if (!this.#isAwaited) {
        this.#watching = false;
      } else if (!this.#host.isSettled || activity !== this.#activity) {
        this.#watchTurn(this.#activity, 0);
      } else if (idleTurns + 1 < IDLE_TURNS) {
        this.#watchTurn(activity, idleTurns + 1);
      } else {
        this.#watching = false;
        this.#isAwaited = false;
        this.#host.onIdle();
      }
    });
  }
}
