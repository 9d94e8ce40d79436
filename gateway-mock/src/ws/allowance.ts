/** A token bucket: so many at once, then one each interval. It bounds the log lines that one connection can cause. */

export interface AllowanceOptions {
  /** So many at once ... */
  readonly burst: number;
  /** ... and one more after each of these. */
  readonly everyMs: number;
}

/** How often something may happen. Time is monotonic. */
export class Allowance {
  readonly #options: AllowanceOptions;
  /** What is left, in milliseconds of waiting. */
  #leftMs: number;
  #atMs: number;

  constructor(options: AllowanceOptions, nowMs: number) {
    this.#options = options;
    this.#leftMs = options.burst * options.everyMs;
    this.#atMs = nowMs;
  }

  /** False: not now. */
  take(nowMs: number): boolean {
    const { burst, everyMs } = this.#options;
    this.#leftMs = Math.min(burst * everyMs, this.#leftMs + Math.max(0, nowMs - this.#atMs));
    this.#atMs = nowMs;
    if (this.#leftMs < everyMs) return false;
    this.#leftMs -= everyMs;
    return true;
  }
}
