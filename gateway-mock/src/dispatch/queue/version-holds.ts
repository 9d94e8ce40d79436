/**
 * Remembers of which functions jobs were put off until a worker of their version has room, and recalls them
 * (docs/decisions/0032). `QueueLoop` asks it before each claim.
 */
import type { Store } from "@holdfast/store";

import type { Admission } from "../admission/admission.ts";
import type { Workers } from "../workers/workers.ts";

const REVIEW_LIMIT = 1000;

/**
 * Functions of which jobs were put off because they wait for a worker of their version. What a worker here has the
 * version and the room for is asked for before claims; a function is forgotten once nothing more of it is left for any
 * worker here.
 */
export class VersionHolds {
  readonly #store: Store;
  readonly #workers: Workers;
  /** With the number of its last notification. */
  readonly #functions = new Map<string, number>();
  #additions = 0;
  /** Of these everything that no worker has had yet is looked at again, once. */
  readonly #review = new Set<string>();

  constructor(store: Store, workers: Workers) {
    this.#store = store;
    this.#workers = workers;
  }

  get size(): number {
    return this.#functions.size;
  }

  has(functionId: string): boolean {
    return this.#functions.has(functionId);
  }

  /** True when some of them can run here. */
  addFunctions(functionIds: Iterable<string>): boolean {
    let some = false;
    for (const functionId of functionIds) {
      if (!this.#workers.accepts(functionId)) continue;
      this.#additions += 1;
      this.#functions.set(functionId, this.#additions);
      some = true;
    }
    return some;
  }

  /** What is the newest version of these functions may have changed. True when some of them can run here. */
  addForReview(functionIds: Iterable<string>): boolean {
    for (const functionId of functionIds) if (this.#workers.accepts(functionId)) this.#review.add(functionId);
    return this.#review.size > 0;
  }

  async recall(nowMs: number, most: number, admission: Pick<Admission, "mayStart">): Promise<void> {
    if (this.#functions.size + this.#review.size === 0) return;
    const mayStart = (functionId: string, version: string | null): boolean =>
      admission.mayStart({ at: "RECALL", functionId, version }).may;
    const reviewed = [...this.#review].filter((functionId) => mayStart(functionId, null));
    for (const functionId of reviewed) this.#review.delete(functionId);
    try {
      await this.#recall(nowMs, most, reviewed, mayStart);
    } catch (error) {
      for (const functionId of reviewed) this.#review.add(functionId);
      throw error;
    }
  }

  async #recall(
    nowMs: number,
    most: number,
    reviewed: readonly string[],
    mayStart: (functionId: string, version: string | null) => boolean,
  ): Promise<void> {
    const known = new Map(this.#functions);
    const all = this.#workers
      .roomByVersion(known.keys(), nowMs, most)
      .map((want) => (mayStart(want.functionId, want.appVersion) ? want : { ...want, limit: 0 }));
    const wants = all.filter(({ limit }) => limit > 0);
    const again = reviewed.map((functionId) => ({ functionId, appVersion: null, limit: REVIEW_LIMIT }));
    const counts = await this.#store.recallJobs([...wants, ...again]);
    const left = new Set(all.filter(({ limit }) => limit === 0).map(({ functionId }) => functionId));
    for (const [index, { functionId, limit }] of wants.entries()) if (counts[index] === limit) left.add(functionId);
    for (const [functionId, addition] of known) {
      if (!left.has(functionId) && this.#functions.get(functionId) === addition) this.#functions.delete(functionId);
    }
  }
}
