/**
 * Whether code that earlier turns left behind computes in this thread. A turn that began beside it would have less than
 * its budget, and be blamed for what is not its own.
 */
import { performance } from "node:perf_hooks";
import { setImmediate, setTimeout } from "node:timers";

export interface LoopTimes {
  readonly nowMs: () => number;
  /** How long the event loop has waited for something to do; 0 = this is not counted. */
  readonly idleMs: () => number;
}

/** Less is what a turn may leave: a callback or two, what the garbage collector does. */
export const LEFT_BEHIND_MS = 500;

const LOOP_TIMES: LoopTimes = {
  nowMs: () => performance.now(),
  idleMs: () => performance.nodeTiming.idleTime,
};

const WAIT_MS = 5;

/**
 * From Node 22 on it is counted from the first question in a loop that runs. The thread waits for a moment first, so that
 * what is counted is never 0 afterwards.
 */
export function whenIdleIsCounted(then: () => void, tries = 3): void {
  if (loopTimes() === undefined || tries === 0) return then();
  setImmediate(() => {
    performance.eventLoopUtilization();
    setTimeout(() => (performance.nodeTiming.idleTime > 0 ? then() : whenIdleIsCounted(then, tries - 1)), WAIT_MS);
  });
}

/** Bun and Deno do not count it: nothing is found there. */
export function loopTimes(): LoopTimes | undefined {
  const { bun, deno } = process.versions;
  return bun === undefined && deno === undefined ? LOOP_TIMES : undefined;
}

export class LeftBehind {
  readonly #times: LoopTimes | undefined;
  /** Undefined: it has had no turn, so none has left anything, or it is not known. */
  #since: { readonly atMs: number; readonly idleMs: number } | undefined;

  constructor(times: LoopTimes | undefined) {
    this.#times = times;
  }

  onTurnEnd(): void {
    const idleMs = this.#times?.idleMs() ?? 0;
    this.#since = this.#times && idleMs > 0 ? { atMs: this.#times.nowMs(), idleMs } : undefined;
  }

  /** How long it has computed since the last turn, if that was most of the time, or is known to go on. */
  busyMs(isKnown: boolean): number | null {
    if (this.#times === undefined || this.#since === undefined) return null;
    const { atMs, idleMs } = this.#since;
    const elapsedMs = this.#times.nowMs() - atMs;
    if (elapsedMs < LEFT_BEHIND_MS) return null;
    const busyMs = elapsedMs - (this.#times.idleMs() - idleMs);
    const isMost = busyMs >= LEFT_BEHIND_MS && busyMs > elapsedMs / 2;
    return isMost || isKnown ? Math.round(busyMs) : null;
  }
}
