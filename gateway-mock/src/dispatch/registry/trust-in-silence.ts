/** Whether a deployment of which nothing was heard is gone, or it is this gateway that could not hear of it. Pure. */
import type { Clock } from "@holdfast/core";

/** Between two touches, which are a quarter of a minute apart. */
const MOST_BETWEEN_MS = 40_000;
/** As long as a deployment may be silent (`saveApps`): by then each gateway that is there has said what it has. */
const TRUSTED_AFTER_MS = 60_000;

/**
 * Deployments are recorded as connected every quarter of a minute, by each gateway that has workers of them. Where the
 * database was away, or this process was stopped, all of them look silent, and an older one must not become the newest.
 */
export class TrustInSilence {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Since when there was no long gap between touches, monotonic. */
  #sinceMs: number;
  #lastMs: number;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
    this.#lastMs = this.#sinceMs;
  }

  get isTrusted(): boolean {
    const nowMs = this.#clock.monotonicMs();
    return nowMs - this.#lastMs <= MOST_BETWEEN_MS && this.#lastMs - this.#sinceMs >= TRUSTED_AFTER_MS;
  }

  /** What is connected here was recorded. */
  recordTouch(): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs > MOST_BETWEEN_MS) this.#sinceMs = nowMs;
    this.#lastMs = nowMs;
  }
}
