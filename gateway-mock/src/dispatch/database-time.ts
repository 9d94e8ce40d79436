/**
 * Owns what this gateway knows of the database's clock, which alone decides what is due (docs/decisions/0025). Commits,
 * claims and tests feed it; decisions and expressions read it.
 */
import { type Clock, type ClockReading, readClocks } from "@holdfast/core";
import type { Store } from "@holdfast/store";

/** A database whose clock was set back is believed after two of these. */
const WINDOW_MS = 60_000;
/** Clocks drift apart by less between two things that the database says. */
const DOUBT_MS = 1_000;
/** Clocks that run at different speeds are that far apart by then: the latest that it may be is asked for anew. */
const BOUND_MS = 600_000;
/** The database gives whole milliseconds that have begun. */
const ROUNDING_MS = 1;

/**
 * The database's time, as well as it is known here: our wall clock may be wrong, and may jump.
 *
 * TIME-1. It is never earlier than `nowMs`: an answer that was long in transit gives too small a value, never too large
 *     a one.
 * TIME-2. It is never later than `latestMs`: it was asked for, and cannot have gone on by more than what passed here
 *     since. While a machine is suspended its monotonic clock stalls and its wall clock does not; whether that was it, or
 *     the wall clock was set, only an answer says that was asked for afterwards.
 */
export class DatabaseTime {
  readonly #clock: Clock;
  /**
   * The database's time minus our own monotonic time, the highest seen in this window and in the one before; null until
   * it is known.
   */
  #offset: { readonly sinceMs: number; readonly mostMs: number; readonly beforeMs: number } | null = null;
  /** The same, the highest that it can be; since when that is known, and our wall clock less our monotonic one then. */
  #bound: { readonly sinceMs: number; readonly offsetMs: number; readonly apartMs: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    if (this.#offset === null) return this.#clock.nowMs();
    const { mostMs, beforeMs } = this.#offset;
    return Math.round(this.#clock.monotonicMs() + Math.max(mostMs, beforeMs));
  }

  /** The latest that it may be. */
  latestMs(): number {
    if (this.#bound === null) return this.nowMs();
    return Math.max(this.nowMs(), Math.ceil(this.#clock.monotonicMs() + this.#bound.offsetMs + this.#stalledMs()));
  }

  /** The machine may have been suspended, or it was not asked for long: ask before something is decided by its time. */
  get isDoubtful(): boolean {
    return this.#stalledMs() > DOUBT_MS || this.#isOld();
  }

  async ask(store: Pick<Store, "nowMs">): Promise<void> {
    const askedAt = readClocks(this.#clock);
    this.observe(await store.nowMs(), askedAt);
  }

  /** The database's clock says so. Without `askedAt` the answer may have been on its way for any time. */
  observe(atMs: number, askedAt?: ClockReading): void {
    const now = readClocks(this.#clock);
    const seenMs = atMs - now.monotonicMs;
    const known = this.#offset;
    if (known === null) this.#offset = { sinceMs: now.monotonicMs, mostMs: seenMs, beforeMs: seenMs };
    else if (now.monotonicMs - known.sinceMs < WINDOW_MS) {
      if (seenMs > known.mostMs) this.#offset = { ...known, mostMs: seenMs };
    } else this.#offset = { sinceMs: now.monotonicMs, mostMs: seenMs, beforeMs: known.mostMs };
    if (askedAt) this.#limit(seenMs, askedAt, now);
  }

  #limit(seenMs: number, askedAt: ClockReading, now: ClockReading): void {
    const apartMs = now.wallMs - now.monotonicMs;
    const onItsWayMs = Math.max(now.monotonicMs - askedAt.monotonicMs, now.wallMs - askedAt.wallMs);
    const offsetMs = seenMs + onItsWayMs + ROUNDING_MS;
    const bound = this.#bound;
    const isTighter = bound !== null && bound.offsetMs + this.#stalledMs() <= offsetMs;
    // One below what was seen since is from before the database's clock was set.
    if (!isTighter || this.#isOld() || bound.offsetMs < this.#leastMs()) {
      this.#bound = { sinceMs: now.monotonicMs, offsetMs, apartMs };
    } else if (apartMs < bound.apartMs) this.#bound = { ...bound, apartMs };
  }

  #isOld(): boolean {
    return this.#bound !== null && this.#clock.monotonicMs() - this.#bound.sinceMs > BOUND_MS;
  }

  #leastMs(): number {
    return this.#offset === null ? Number.NEGATIVE_INFINITY : Math.max(this.#offset.mostMs, this.#offset.beforeMs);
  }

  /** How long the monotonic clock may have stalled since the bound was known. */
  #stalledMs(): number {
    if (this.#bound === null) return 0;
    return Math.max(0, this.#clock.nowMs() - this.#clock.monotonicMs() - this.#bound.apartMs);
  }
}
