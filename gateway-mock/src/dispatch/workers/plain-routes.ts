import type { Dispatch } from "./dispatch.ts";

/** A request goes to so many connections; when none has acknowledged it, its attempt has failed. */
const MAX_ROUTES = 3;
const MAX_KNOWN = 10_000;

/** How often in a row a job was sent and not acknowledged, as the reference's router counts it. */
export class PlainRoutes {
  readonly #missed = new Map<string, number>();

  /** Not acknowledged in time, or its connection left before. True when its attempt has failed. */
  recordMiss({ fence: { jobId } }: Dispatch): boolean {
    const missed = (this.#missed.get(jobId) ?? 0) + 1;
    this.#missed.delete(jobId);
    if (missed >= MAX_ROUTES) return true;
    this.#missed.set(jobId, missed);
    for (const oldest of this.#missed.keys()) {
      if (this.#missed.size <= MAX_KNOWN) break;
      this.#missed.delete(oldest);
    }
    return false;
  }

  onAcknowledged({ fence }: Dispatch): void {
    this.#missed.delete(fence.jobId);
  }
}
