/**
 * When the author's code has done all it can for now. A pass must not reply before that, and the only way to know is
 * to let microtasks and turns of the event loop go by.
 */
import { afterMicrotasks } from "./microtasks.ts";

/** Calls `act` with each value, in order, letting all that follows from one happen before the next. */
export class SettleQueue<T> {
  readonly #act: (value: T) => void;
  readonly #onIdle: () => void;
  #values: T[] = [];
  #next = 0;
  #moving = false;

  constructor(act: (value: T) => void, onIdle: () => void) {
    this.#act = act;
    this.#onIdle = onIdle;
  }

  get isIdle(): boolean {
    return !this.#moving;
  }

  add(value: T): void {
    this.#values.push(value);
    if (this.#moving) return;
    this.#moving = true;
    afterMicrotasks(this.#move);
  }

  clear(): void {
    this.#values = [];
    this.#next = 0;
  }

  readonly #move = (): void => {
    if (this.#next >= this.#values.length) {
      this.clear();
      this.#moving = false;
      this.#onIdle();
      return;
    }
    const value = this.#values[this.#next] as T;
    this.#next += 1;
    afterMicrotasks(this.#move);
    this.#act(value);
  };
}

const IDLE_TURNS = 2;

/** Notices that nothing new happened for two turns of the event loop. */
export class IdleDetector {
  readonly #isBusy: () => boolean;
  readonly #onIdle: () => void;
  #activity = 0;
  #isAwaited = false;
  #watching = false;

  constructor(isBusy: () => boolean, onIdle: () => void) {
    this.#isBusy = isBusy;
    this.#onIdle = onIdle;
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
    setImmediate(() => {
      if (!this.#isAwaited) {
        this.#watching = false;
      } else if (this.#isBusy() || activity !== this.#activity) {
        this.#watchTurn(this.#activity, 0);
      } else if (idleTurns + 1 < IDLE_TURNS) {
        this.#watchTurn(activity, idleTurns + 1);
      } else {
        this.#watching = false;
        this.#isAwaited = false;
        this.#onIdle();
      }
    });
  }
}
