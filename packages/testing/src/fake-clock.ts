/** A timer that waits on a fake clock. */
export interface PendingTimer {
  /** When it fires, on the clock's monotonic scale. */
  readonly atMs: number;
  /** How long it was set for. */
  readonly delayMs: number;
}

export interface FakeClockOptions {
  /** Wall time at the start, in milliseconds since the epoch. Default 1 700 000 000 000. */
  readonly nowMs?: number;
}

/**
 * A clock that only moves when it is advanced, to be used as `Clock` and `Timers`. Timers fire in order of time, those
 * for the same time in the order in which they were set.
 */
export interface FakeClock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Milliseconds since the clock was made. */
  monotonicMs(): number;
  set(delayMs: number, fire: () => void, options?: { readonly unref?: boolean }): { cancel(): void };
  /** Timers that have not fired, next first. */
  readonly pending: readonly PendingTimer[];
  /** Goes on by this much and fires what is due on the way; promises that wait on a timer go on in between. */
  advance(byMs: number): Promise<void>;
  /** Goes on to the next timer and fires it; false when there is none. */
  runNext(): Promise<boolean>;
  /** Fires timers until none is left. Throws after `limit` (default 10 000): timers are set forever. */
  runAll(limit?: number): Promise<void>;
  /** Changes the wall clock as an administrator would; timers are not affected. */
  setWallClock(nowMs: number): void;
}

interface Timer extends PendingTimer {
  readonly order: number;
  readonly fire: () => void;
}

const DEFAULT_NOW_MS = 1_700_000_000_000;
const DEFAULT_RUN_LIMIT = 10_000;

/** Makes a clock for tests; see {@link FakeClock}. */
export function fakeClock(options: FakeClockOptions = {}): FakeClock {
  let monotonicMs = 0;
  let wallOffsetMs = options.nowMs ?? DEFAULT_NOW_MS;
  let order = 0;
  let timers: Timer[] = [];

  const fireNext = async (untilMs: number): Promise<boolean> => {
    const [next] = timers;
    if (!next || next.atMs > untilMs) return false;
    timers.shift();
    monotonicMs = Math.max(monotonicMs, next.atMs);
    next.fire();
    await settle();
    return true;
  };
  return {
    nowMs: () => Math.floor(wallOffsetMs + monotonicMs),
    monotonicMs: () => monotonicMs,
    set(delayMs, fire) {
      const delay = Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
      const timer: Timer = { atMs: monotonicMs + delay, delayMs: delay, order: ++order, fire };
      timers = [...timers, timer].sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      return {
        cancel: () => {
          timers = timers.filter((each) => each !== timer);
        },
      };
    },
    get pending() {
      return timers.map(({ atMs, delayMs }) => ({ atMs, delayMs }));
    },
    async advance(byMs) {
      const untilMs = monotonicMs + byMs;
      await settle();
      while (await fireNext(untilMs));
      monotonicMs = untilMs;
    },
    async runNext() {
      await settle();
      return fireNext(Number.POSITIVE_INFINITY);
    },
    async runAll(limit = DEFAULT_RUN_LIMIT) {
      await settle();
      for (let fired = 0; await fireNext(Number.POSITIVE_INFINITY); fired += 1) {
        if (fired >= limit) throw new Error(`More than ${limit} timers fired, and some are still pending.`);
      }
    },
    setWallClock(nowMs) {
      wallOffsetMs = nowMs - monotonicMs;
    },
  };
}

/** Lets everything run that only waits for promises. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
