/**
 * The gate that the author's code starts through: handlers and bodies that become due together share turns of the event
 * loop fairly with everything else of the process. What has started is never interrupted. See docs/decisions/0066.
 */
import { afterMicrotasks } from "./idle-detector.ts";

/** Asked before the author's code starts, or a payload is parsed. */
export interface Turns {
  /** Undefined = go on at once. Else this turn is used up, or others wait already: in a later one, in the same order. */
  enter(): Promise<void> | undefined;
}

/** Nothing ever waits. */
export const UNLIMITED_TURNS: Turns = { enter: () => undefined };

export interface TurnPorts {
  readonly monotonicMs: () => number;
  /** Calls `begin` in the next turn of the event loop, when all else that is due has had its part of this one. */
  readonly nextTurn: (begin: () => void) => void;
}

interface Waiting {
  readonly limitMs: number;
  readonly start: () => void;
}

/** One queue, first come first served: for all connections of a process, since they share its event loop. */
export class FairTurns {
  readonly #ports: TurnPorts;
  #waiting: Waiting[] = [];
  /** Those before it have started. */
  #next = 0;
  /** When this turn began, as far as is known; undefined until something starts in it. */
  #beganMs: number | undefined;

  constructor(ports: TurnPorts) {
    this.#ports = ports;
  }

  /** Lets code start while less than `limitMs` of a turn are used. */
  limitedTo(limitMs: number): Turns {
    return { enter: () => (this.#mayStart(limitMs) ? undefined : this.#wait(limitMs)) };
  }

  #mayStart(limitMs: number): boolean {
    if (this.#next < this.#waiting.length) return false;
    if (this.#beganMs !== undefined) return this.#isLeft(this.#beganMs, limitMs);
    this.#begin();
    return true;
  }

  #isLeft(beganMs: number, limitMs: number): boolean {
    return this.#ports.monotonicMs() - beganMs < limitMs;
  }

  /** A promise, so that what waits goes on in its own async context. */
  #wait(limitMs: number): Promise<void> {
    return new Promise((start) => this.#waiting.push({ limitMs, start }));
  }

  #begin(): void {
    this.#beganMs = this.#ports.monotonicMs();
    this.#ports.nextTurn(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#beganMs = undefined;
    if (this.#next === this.#waiting.length) return;
    this.#begin();
    // The first one starts in any case: each turn gets on.
    this.#startNext();
  };

  #startNext(): void {
    const { start } = this.#waiting[this.#next] as Waiting;
    this.#next += 1;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    start();
    // Microtasks that follow from it are a part of what it takes.
    afterMicrotasks(this.#goOn);
  }

  readonly #goOn = (): void => {
    const next = this.#waiting[this.#next];
    if (next !== undefined && this.#beganMs !== undefined && this.#isLeft(this.#beganMs, next.limitMs)) {
      this.#startNext();
    }
  };
}
