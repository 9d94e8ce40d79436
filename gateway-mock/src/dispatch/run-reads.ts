/** Reads runs for the cache, many in one statement, and tells it which rows a reading cannot have seen. */
import { type Deferred, deferred } from "@holdfast/core";
import type { Store, StoredRun } from "@holdfast/store";

/** A run as it was read, if it exists, and what the mark was before. */
export interface ReadRun {
  readonly stored: StoredRun | undefined;
  readonly mark: number;
}

const AT_ONCE = 2;
const MOST_RUNS = 64;

/**
 * Reads runs from the store. Those who ask while others are read share the next reads: a crowd costs few statements.
 */
export class RunReads {
  readonly #store: Pick<Store, "loadRuns">;
  readonly #markOf: () => number;
  readonly #waiting = new Map<string, Deferred<ReadRun>>();
  #underWay = 0;
  #isComing = false;

  constructor(store: Pick<Store, "loadRuns">, markOf: () => number) {
    this.#store = store;
    this.#markOf = markOf;
  }

  /** What it gives was read after the call. */
  read(runId: string): Promise<ReadRun> {
    let wanted = this.#waiting.get(runId);
    if (!wanted) {
      wanted = deferred();
      this.#waiting.set(runId, wanted);
    }
    if (!this.#isComing && this.#underWay < AT_ONCE) {
      this.#isComing = true;
      void Promise.resolve().then(this.#begin);
    }
    return wanted.promise;
  }

  /** When those are here that ask in the same turn. */
  readonly #begin = (): void => {
    this.#isComing = false;
    this.#next();
  };

  #next(): void {
    if (this.#underWay >= AT_ONCE || this.#waiting.size === 0) return;
    const wanted = [...this.#waiting].slice(0, MOST_RUNS);
    for (const [runId] of wanted) this.#waiting.delete(runId);
    this.#underWay += 1;
    void this.#readRuns(wanted).finally(() => {
      this.#underWay -= 1;
      this.#next();
    });
    this.#next();
  }

  async #readRuns(wanted: readonly (readonly [string, Deferred<ReadRun>])[]): Promise<void> {
    const mark = this.#markOf();
    try {
      const found = await this.#store.loadRuns(wanted.map(([runId]) => runId));
      const byId = new Map(found.map((stored) => [stored.head.id, stored]));
      for (const [runId, one] of wanted) one.resolve({ stored: byId.get(runId), mark });
    } catch (error) {
      for (const [, one] of wanted) one.reject(error);
    }
  }
}
