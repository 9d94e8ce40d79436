/** Characters of runs that one look into the queue should bring at most: they are all in memory at once. */
const MAX_LENGTH = 64 * 1024 * 1024;
const FIRST = 25;

/**
 * How much to claim at once. The size of runs is unknown before they are read, so it starts with a few, doubles while
 * they are small, and shrinks to what fits where they are large.
 */
export class ClaimSize {
  readonly #most: number;
  #limit: number;

  constructor(most: number) {
    this.#most = most;
    this.#limit = Math.min(FIRST, most);
  }

  get limit(): number {
    return this.#limit;
  }

  /** So many jobs came, their runs so large together. */
  recordClaim(jobs: number, length: number): void {
    if (jobs === 0) return;
    if (length > MAX_LENGTH) this.#limit = Math.max(1, Math.floor((jobs * MAX_LENGTH) / length));
    else if (jobs >= this.#limit && length < MAX_LENGTH / 2) this.#limit = Math.min(this.#most, this.#limit * 2);
  }
}
