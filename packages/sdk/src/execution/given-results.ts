/**
 * Which results handlers in this process have been given in passes that ended well: what follows from them was logged
 * then (`replay-watch.ts`). Of the runs that are under way only, and only where handlers log.
 */

const MAX_RESULTS = 100_000;

export class GivenResults {
  /** By run; the run that ended a pass last is last. */
  readonly #runs = new Map<string, ReadonlySet<string>>();
  readonly #maxResults: number;
  #count = 0;

  constructor(maxResults = MAX_RESULTS) {
    this.#maxResults = maxResults;
  }

  has(runId: string, hash: string): boolean {
    return this.#runs.get(runId)?.has(hash) === true;
  }

  /** Beyond the limit the runs that have rested longest are forgotten: their lines may be logged twice. */
  set(runId: string, hashes: ReadonlySet<string>): void {
    this.forget(runId);
    this.#runs.set(runId, hashes);
    this.#count += hashes.size;
    for (const oldest of this.#runs.keys()) {
      if (this.#count <= this.#maxResults) return;
      this.forget(oldest);
    }
  }

  forget(runId: string): void {
    this.#count -= this.#runs.get(runId)?.size ?? 0;
    this.#runs.delete(runId);
  }
}

/** Of this process, as runs go from one connection to another. */
export const givenResults = new GivenResults();
