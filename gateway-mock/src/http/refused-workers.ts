/** Logs that workers are turned away at their first call, where nothing of them is seen otherwise; no flood of it. */
import { type Clock, HoldfastError, type Log } from "@holdfast/core";
import { START_PATH } from "@holdfast/protocol";

/** What a worker's key or environment can be refused with; not every SDK says so where it runs. */
const REFUSALS: ReadonlySet<string> = new Set(["UNAUTHORIZED", "ENVIRONMENT_REFUSED", "ENVIRONMENT_INVALID"]);

/** A worker that is refused tries again and again, and so do all workers of its deployment. */
const AGAIN_MS = 60_000;
const MOST_REASONS = 100;

export class RefusedWorkers {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By what was said. */
  readonly #said = new Map<string, { atMs: number; leftOut: number }>();

  constructor({ log, clock }: { readonly log: Log; readonly clock: Pick<Clock, "monotonicMs"> }) {
    this.#log = log;
    this.#clock = clock;
  }

  record(path: string, error: unknown): void {
    if (path !== START_PATH || !HoldfastError.is(error) || !REFUSALS.has(error.code)) return;
    const nowMs = this.#clock.monotonicMs();
    const before = this.#said.get(error.message);
    if (before !== undefined && nowMs - before.atMs < AGAIN_MS) {
      before.leftOut += 1;
      return;
    }
    if (this.#said.size >= MOST_REASONS) this.#said.clear();
    this.#said.set(error.message, { atMs: nowMs, leftOut: 0 });
    const more =
      before === undefined || before.leftOut === 0 ? "" : ` So were ${before.leftOut} calls since this was said.`;
    this.#log("warn", `A worker was refused: ${error.message}${more}`, { code: error.code });
  }
}
