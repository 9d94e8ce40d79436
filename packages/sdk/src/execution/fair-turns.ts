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
   * @param context of the step whose body it is: a body goes before what has not begun; default: that of the call
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
/** After so many bodies it is the turn of something that has not begun, if anything waits. */
export const BODIES_IN_A_ROW = 16;

/** First come, first served. */
class WaitingLine {
  #all: Waiting[] = [];
  /** Those before it have left. */
  #next = 0;

  get first(): Waiting | undefined {
    return this.#all[this.#next];
  }

  push(one: Waiting): void {
    this.#all.push(one);
  }

  shift(): Waiting | undefined {
    const { first } = this;
    this.#next += 1;
    if (this.#next >= this.#all.length) {
      this.#all = [];
      this.#next = 0;
    }
    return first;
  }
}

/**
 * For all connections of a process, since they share its event loop. Bodies of handlers that have begun go before
 * handlers that have not: what has begun holds memory, and is done sooner.
 */
export class FairTurns {
  readonly #ports: TurnPorts;
  readonly #bodies = new WaitingLine();
  readonly #beginnings = new WaitingLine();
  #bodiesInARow = 0;
  /** When this turn began, as far as is known; undefined until something starts in it. */
  #beganMs: number | undefined;

  constructor(ports: TurnPorts) {
    this.#ports = ports;
  }

  /** Lets code start while less than `limitMs` of a turn are used. */
  limitedTo(limitMs: number): Turns {
    return {
      start: (code, context) => {
        if (this.#mayStart(limitMs, context !== undefined)) return runIn(code, context);
        const line = context === undefined ? this.#beginnings : this.#bodies;
        line.push({ limitMs, code, context: context ?? asyncContext() });
      },
    };
  }

  #mayStart(limitMs: number, isBody: boolean): boolean {
    if (this.#bodies.first !== undefined || (!isBody && this.#beginnings.first !== undefined)) return false;
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
    if (this.#nextLine.first === undefined) return;
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
    const line = this.#nextLine;
    this.#bodiesInARow = line === this.#bodies ? this.#bodiesInARow + 1 : 0;
    const next = line.shift();
    next?.context.runInAsyncScope(next.code);
  }

  get #nextLine(): WaitingLine {
    if (this.#bodies.first === undefined) return this.#beginnings;
    const isTurnOfOthers = this.#bodiesInARow >= BODIES_IN_A_ROW && this.#beginnings.first !== undefined;
    return isTurnOfOthers ? this.#beginnings : this.#bodies;
  }

  #isNextDue(): boolean {
    const next = this.#nextLine.first;
    return next !== undefined && this.#beganMs !== undefined && this.#isLeft(this.#beganMs, next.limitMs);
  }

  readonly #goOn = (): void => {
    if (this.#isNextDue()) this.#startSome();
  };
}
