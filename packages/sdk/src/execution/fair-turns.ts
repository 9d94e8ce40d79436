/**
 * The gate that the author's code starts through: handlers and bodies that become due together share turns of the event
 * loop fairly with everything else of the process. What has started is never interrupted. See docs/decisions/0066.
 */
import { type AsyncContext, asyncContext } from "./async-context.ts";
import { afterMicrotasks } from "./microtasks.ts";

/** Asked before the author's code starts, or a payload is parsed. */
export interface Turns {
  /**
   * Calls `code` at once, or, where this turn is used up or others wait already, in a later one, in the same order.
   * @param context where it goes on; default: that of the call
   */
  start(code: () => void, context?: AsyncContext): void;
}

/** Nothing ever waits. */
export const UNLIMITED_TURNS: Turns = { start: runIn };

function runIn(code: () => void, context: AsyncContext | undefined): void {
  if (context === undefined) code();
  else context.runInAsyncScope(code);
}

/** What `code` comes to, which is called in its turn. */
export function inTurn<T>(turns: Turns, code: () => Promise<T>): Promise<T> {
  let result: Promise<T> | undefined;
  let onStarted: ((result: Promise<T>) => void) | undefined;
  turns.start(() => {
    result = code();
    onStarted?.(result);
  });
  return (
    result ??
    new Promise((resolve) => {
      onStarted = resolve;
    })
  );
}

export interface TurnPorts {
  readonly monotonicMs: () => number;
  /** Calls `begin` in the next turn of the event loop, when all else that is due has had its part of this one. */
  readonly nextTurn: (begin: () => void) => void;
}

interface Waiting {
  readonly limitMs: number;
  readonly code: () => void;
  /** It goes on in its own, whosever turn it came after. */
  readonly context: AsyncContext;
}

/** What starts within this time shares microtasks: what it sends to the connection thread goes in one message. */
const BATCH_MS = 1;

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
    return {
      start: (code, context) => {
        if (this.#mayStart(limitMs)) return runIn(code, context);
        this.#waiting.push({ limitMs, code, context: context ?? asyncContext() });
      },
    };
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

  #begin(): void {
    this.#beganMs = this.#ports.monotonicMs();
    this.#ports.nextTurn(this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#beganMs = undefined;
    if (this.#next === this.#waiting.length) return;
    this.#begin();
    // The first one starts in any case: each turn gets on.
    this.#startSome();
  };

  #startSome(): void {
    const beganMs = this.#ports.monotonicMs();
    // All that follows from it in microtasks is a part of what it takes.
    afterMicrotasks(this.#goOn);
    do this.#startNext();
    while (this.#isNextDue() && this.#isLeft(beganMs, BATCH_MS));
  }

  #startNext(): void {
    const { code, context } = this.#waiting[this.#next] as Waiting;
    this.#next += 1;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    context.runInAsyncScope(code);
  }

  #isNextDue(): boolean {
    const next = this.#waiting[this.#next];
    return next !== undefined && this.#beganMs !== undefined && this.#isLeft(this.#beganMs, next.limitMs);
  }

  readonly #goOn = (): void => {
    if (this.#isNextDue()) this.#startSome();
  };
}
