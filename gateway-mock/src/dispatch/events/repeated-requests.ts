/** Requests that are named, so that a repeat waits for the one before it instead of storing the same against it. */
import { HoldfastError } from "@holdfast/core";

/** So many repeats of one request may wait: each holds its events in memory. */
export const MAX_WAITING_REPEATS = 8;

interface UnderWay {
  requests: number;
  ended: Promise<unknown>;
}

/** Lets requests of one name through one after the other; those of different names do not wait for each other. */
export class RepeatedRequests {
  readonly #byName = new Map<string, UnderWay>();

  /** @throws HoldfastError `STORE_FAILED` when too many of this name wait */
  async inTurn<T>(name: string, run: (isRepeat: boolean) => Promise<T>): Promise<T> {
    const before = this.#byName.get(name);
    if (before && before.requests > MAX_WAITING_REPEATS) {
      throw new HoldfastError(
        "STORE_FAILED",
        `This request is being stored, and ${MAX_WAITING_REPEATS} repeats wait for that. Nothing was stored; retry later.`,
      );
    }
    const all = before ?? { requests: 0, ended: Promise.resolve() };
    const done = before ? before.ended.then(() => run(true)) : run(false);
    all.requests += 1;
    all.ended = done.catch(() => {});
    this.#byName.set(name, all);
    try {
      return await done;
    } finally {
      all.requests -= 1;
      if (all.requests === 0) this.#byName.delete(name);
    }
  }
}
