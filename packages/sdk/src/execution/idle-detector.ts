/** Runs `next` once all microtasks that are due, and those they make, have run. */
export function afterMicrotasks(next: () => void): void {
  // The queue of ticks is looked at when the queue of microtasks is empty; asking from a microtask makes that so.
  queueMicrotask(() => process.nextTick(next));
}

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

const CALM_TURNS = 2;

/** Notices that nothing new happened for two turns of the event loop. */
export class IdleDetector {
  readonly #isBusy: () => boolean;
  readonly #onQuiet: () => void;
  #news = 0;
  #wanted = false;
  #turning = false;

  constructor(isBusy: () => boolean, onQuiet: () => void) {
    this.#isBusy = isBusy;
    this.#onQuiet = onQuiet;
  }

  /** Something happened. */
  note(): void {
    this.#news += 1;
  }

  /** Asks for one call of `onQuiet`. */
  want(): void {
    this.#wanted = true;
    if (this.#turning) return;
    this.#turning = true;
    this.#turn(this.#news, 0);
  }

  stop(): void {
    this.#wanted = false;
  }

  #turn(news: number, calm: number): void {
    setImmediate(() => {
      if (!this.#wanted) {
        this.#turning = false;
      } else if (this.#isBusy() || news !== this.#news) {
        this.#turn(this.#news, 0);
      } else if (calm + 1 < CALM_TURNS) {
        this.#turn(news, calm + 1);
      } else {
        this.#turning = false;
        this.#wanted = false;
        this.#onQuiet();
      }
    });
  }
}
