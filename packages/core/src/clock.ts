/**
 * Time, as a port and as the system has it. What the system has is taken from the globals when this is loaded: a test that
 * installs fake timers later fakes the time of its own code, and Holdfast goes on. Only the wall clock is that of the
 * test, so that both say the same date.
 */

const setTimer = setTimeout;
const clearTimer = clearTimeout;
// In a browser, from which events are sent, it is not there.
const readMonotonicNs = globalThis.process?.hrtime?.bigint;

/** What time it is. `nowMs` may jump (wall clock); `monotonicMs` never goes back. */
export interface Clock {
  /** Milliseconds since the Unix epoch, whole. */
  nowMs(): number;
  /**
   * Milliseconds from an arbitrary start, the same for all threads of a process: for measuring and for deadlines. Threads
   * have it from `clockOfThread`.
   */
  monotonicMs(): number;
}

/** A timer that was set; `cancel` may be called at any time, also after it fired. */
export interface TimerHandle {
  cancel(): void;
}

/** How to be woken later. Timers of `systemTimers` keep the process alive unless `unref` is asked for. */
export interface Timers {
  set(delayMs: number, fire: () => void, options?: { readonly unref?: boolean }): TimerHandle;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // Where there is a choice not `performance.now()`, which begins anew in every thread; on Bun and Deno this does, too.
  monotonicMs: () => (readMonotonicNs ? Number(readMonotonicNs()) / 1e6 : performance.now()),
};

/** Node fires timers longer than this at once; longer waits are cut and set again. */
const MAX_TIMER_MS = 2_147_483_647;

export const systemTimers: Timers = {
  set(delayMs, fire, options) {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const partMs = Math.min(leftMs, MAX_TIMER_MS);
      handle = setTimer(() => (leftMs > partMs ? arm(leftMs - partMs) : fire()), partMs);
      if (options?.unref) handle.unref();
    };
    arm(Math.max(0, delayMs));
    return { cancel: () => clearTimer(handle) };
  },
};
