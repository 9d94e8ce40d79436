/**
 * Owns which connected workers are given nothing for a while: those that rest, and on a plain gateway those that were
 * silent for too long. Time ends both, so it is asked with the time, and looks at those alone that may have changed.
 */
import { type ConnectedWorker, isSilent } from "./connected-worker.ts";

/** Workers that rest or are silent; `onChange` is called for each that becomes one or is one no longer. */
export class Availability {
  readonly #onChange: (worker: ConnectedWorker) => void;
  readonly #resting = new Set<ConnectedWorker>();
  /** No rest ends before. */
  #restEndsMs = Number.POSITIVE_INFINITY;
  readonly #heard = new Set<ConnectedWorker>();
  readonly #silent = new Set<ConnectedWorker>();
  /** None of those that were heard has been silent for too long until then. */
  #silenceMs = Number.POSITIVE_INFINITY;

  constructor(onChange: (worker: ConnectedWorker) => void) {
    this.#onChange = onChange;
  }

  /** As of the last `settle`. */
  isRested(worker: ConnectedWorker): boolean {
    return !this.#resting.has(worker) && !this.#silent.has(worker);
  }

  isSilent(worker: ConnectedWorker): boolean {
    return this.#silent.has(worker);
  }

  add(worker: ConnectedWorker): void {
    if (worker.restUntilMs > 0) this.rest(worker);
    if (!Number.isFinite(worker.maxSilentMs)) return;
    this.#heard.add(worker);
    this.#silenceMs = Math.min(this.#silenceMs, silentAfterMs(worker));
  }

  delete(worker: ConnectedWorker): void {
    this.#resting.delete(worker);
    this.#heard.delete(worker);
    this.#silent.delete(worker);
  }

  /** Its `restUntilMs` was set. */
  rest(worker: ConnectedWorker): void {
    this.#resting.add(worker);
    this.#restEndsMs = Math.min(this.#restEndsMs, worker.restUntilMs);
    this.#onChange(worker);
  }

  /** It is `nowMs`: rests that are over end, and so does silence. */
  settle(nowMs: number): void {
    if (this.#restEndsMs <= nowMs) this.#endRests(nowMs);
    for (const worker of this.#silent) {
      if (isSilent(worker, nowMs)) continue;
      this.#silent.delete(worker);
      this.#heard.add(worker);
      this.#silenceMs = Math.min(this.#silenceMs, silentAfterMs(worker));
      this.#onChange(worker);
    }
    if (this.#silenceMs < nowMs) this.#findSilent(nowMs);
  }

  /** How long until a worker that rests may be asked again; null when none does. */
  restsForMs(nowMs: number): number | null {
    // The worker whose rest would have ended then may have gone.
    this.#endRests(nowMs);
    return this.#resting.size === 0 ? null : this.#restEndsMs - nowMs;
  }

  #endRests(nowMs: number): void {
    this.#restEndsMs = Number.POSITIVE_INFINITY;
    for (const worker of this.#resting) {
      if (worker.restUntilMs <= nowMs) {
        this.#resting.delete(worker);
        this.#onChange(worker);
      } else this.#restEndsMs = Math.min(this.#restEndsMs, worker.restUntilMs);
    }
  }

  #findSilent(nowMs: number): void {
    this.#silenceMs = Number.POSITIVE_INFINITY;
    for (const worker of this.#heard) {
      if (isSilent(worker, nowMs)) {
        this.#heard.delete(worker);
        this.#silent.add(worker);
        this.#onChange(worker);
      } else this.#silenceMs = Math.min(this.#silenceMs, silentAfterMs(worker));
    }
  }
}

const silentAfterMs = ({ seenMs, maxSilentMs }: ConnectedWorker): number => seenMs + maxSilentMs;
