import type { Clock } from "@holdfast/core";

/** A database whose clock was set back is believed after two of these. */
const WINDOW_MS = 60_000;

/** The database's time, as well as it is known here: our wall clock may be wrong, and may jump. */
export class DatabaseTime {
  readonly #clock: Clock;
  /**
   * The database's time less our own monotonic one, the highest that was told in this window and in the one before; null
   * until it was told. An answer that was long on its way tells too little, never too much.
   */
  #offset: { readonly sinceMs: number; readonly mostMs: number; readonly beforeMs: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    if (this.#offset === null) return this.#clock.nowMs();
    const { mostMs, beforeMs } = this.#offset;
    return Math.round(this.#clock.monotonicMs() + Math.max(mostMs, beforeMs));
  }

  /** The database's clock says so. */
  observe(atMs: number): void {
    const monotonicMs = this.#clock.monotonicMs();
    const seenMs = atMs - monotonicMs;
    const known = this.#offset;
    if (known === null) this.#offset = { sinceMs: monotonicMs, mostMs: seenMs, beforeMs: seenMs };
    else if (monotonicMs - known.sinceMs < WINDOW_MS)
      this.#offset = { ...known, mostMs: Math.max(known.mostMs, seenMs) };
    else this.#offset = { sinceMs: monotonicMs, mostMs: seenMs, beforeMs: known.mostMs };
  }
}
