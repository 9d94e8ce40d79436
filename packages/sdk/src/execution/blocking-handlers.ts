/**
 * Knows the functions whose handlers compute between their steps. What such a handler finished must leave this thread
 * before the handler goes on: while it computes, only the connection thread can send (docs/decisions/0060).
 */

/** Code that has kept the thread for this long after a step may do so again, and for longer. */
const BLOCKING_MS = 10;
/** After so many turns that were short the function is taken for one that does not compute. */
const SHORT_TURNS = 1_000;

export class BlockingHandlers {
  /** Short turns that are still missing, by function. */
  readonly #shortTurns = new WeakMap<object, number>();
  #opened = 0;
  #closed = 0;

  has(fn: object): boolean {
    return this.#shortTurns.has(fn);
  }

  /** A handler is about to be given a result; what is returned belongs to `closeTurn`. */
  openTurn(): number {
    this.#opened += 1;
    return this.#closed;
  }

  /**
   * It has had its turn, in `ms`. Where many had theirs meanwhile none took as long as all of them: it counts with its
   * share.
   */
  closeTurn(fn: object, turn: number, ms: number, cpuMs: () => number): void {
    const count = this.#opened - turn;
    this.#closed += 1;
    this.noteTurn(fn, ms / count, () => cpuMs() / count);
  }

  /**
   * The handler was given a result and kept the thread for `ms`, in which the process used `cpuMs` of CPU time. Without
   * that it did not compute: the process had to wait for a processor.
   */
  noteTurn(fn: object, ms: number, cpuMs: () => number): void {
    if (ms >= BLOCKING_MS && cpuMs() >= BLOCKING_MS) {
      this.#shortTurns.set(fn, SHORT_TURNS);
      return;
    }
    const left = this.#shortTurns.get(fn);
    if (left === undefined) return;
    if (left > 1) this.#shortTurns.set(fn, left - 1);
    else this.#shortTurns.delete(fn);
  }
}

/** Within this time the process is not asked again: that takes as long as a step that does nothing. */
const FRESH_MS = 4;

/** The CPU time of this process, read so often that it is at most a moment old: so a turn seems to have used that much more. */
export class CpuTime {
  readonly #usage: () => NodeJS.CpuUsage;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #ms = 0;

  constructor(usage: () => NodeJS.CpuUsage = () => process.cpuUsage()) {
    this.#usage = usage;
  }

  /** At this monotonic time. */
  readMs(nowMs: number): number {
    if (nowMs - this.#readAtMs >= FRESH_MS) {
      const { user, system } = this.#usage();
      this.#ms = (user + system) / 1_000;
      this.#readAtMs = nowMs;
    }
    return this.#ms;
  }
}

export const cpuTime = new CpuTime();

/** Of this process: what a function does between its steps is the same for every connection that runs it. */
export const blockingHandlers = new BlockingHandlers();
