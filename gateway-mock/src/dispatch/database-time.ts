/**
 * Owns what this gateway knows of the database's clock, which alone decides what is due (docs/decisions/0025). Commits,
 * claims and tests feed it; decisions and expressions read it.
 */
import type { Clock } from "@holdfast/core";

/** A database whose clock was set back is believed after two of these. */
const WINDOW_MS = 60_000;
/** Clocks drift apart by less between two things that the database says. */
const DOUBT_MS = 1_000;

/** The database's time, as well as it is known here: our wall clock may be wrong, and may jump. */
export class DatabaseTime {
  readonly #clock: Clock;
  /**
   * The database's time minus our own monotonic time, the highest seen in this window and in the one before; null until
   * it is known. An answer that was long in transit gives too small a value, never too large a one.
   */
  #offset: { readonly sinceMs: number; readonly mostMs: number; readonly beforeMs: number } | null = null;
  /** Our wall clock less our monotonic one when the database last said something. */
  #apartMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    if (this.#offset === null) return this.#clock.nowMs();
    const { mostMs, beforeMs } = this.#offset;
    return Math.round(this.#clock.monotonicMs() + Math.max(mostMs, beforeMs));
  }

  /**
   * The latest that it may be. While a machine is suspended its monotonic clock stalls and its wall clock does not;
   * until the database answers again it is unknown whether that was it, or the wall clock was set.
   */
  latestMs(): number {
    if (this.#offset === null) return this.nowMs();
    return this.nowMs() + Math.max(0, this.#clock.nowMs() - this.#clock.monotonicMs() - this.#apartMs);
  }

  /** It may be much later than it is known to be: ask the database before something is decided by it. */
  get isDoubtful(): boolean {
    return this.latestMs() - this.nowMs() > DOUBT_MS;
  }

  /** The database's clock says so. */
  observe(atMs: number): void {
    const monotonicMs = this.#clock.monotonicMs();
    this.#apartMs = this.#clock.nowMs() - monotonicMs;
    const seenMs = atMs - monotonicMs;
    const known = this.#offset;
    if (known === null) this.#offset = { sinceMs: monotonicMs, mostMs: seenMs, beforeMs: seenMs };
    else if (monotonicMs - known.sinceMs < WINDOW_MS) {
      if (seenMs > known.mostMs) this.#offset = { ...known, mostMs: seenMs };
    } else this.#offset = { sinceMs: monotonicMs, mostMs: seenMs, beforeMs: known.mostMs };
  }
}
