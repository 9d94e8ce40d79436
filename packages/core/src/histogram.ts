/**
 * Counts of observed values in buckets: how long commits took, how large they were. Observing is cheap enough for the
 * busiest paths; what is shown of it is read when it is asked for.
 */

/** `counts` has one more than `bounds`: values above the last bound. A value that equals a bound is below it. */
export interface HistogramCounts {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  /** @param bounds upper bounds of the buckets, ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sum += value;
    this.#count += 1;
  }

  read(): HistogramCounts {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum, count: this.#count };
  }
}
