/**
 * How many requests this worker takes at once: of the functions of a partition so many, whatever the others do, and of
 * all others together `maxWorkerConcurrency`. A gateway that does not know partitions counts all in one, so there the
 * worker does too. Pure.
 */
import type { Partition } from "../shared/serializable-config.ts";

/** Number of a part of the capacity. */
export type Part = number;

const MAIN: Part = 0;

export interface CapacityConfig {
  readonly maxWorkerConcurrency: number;
  readonly partitions: readonly Partition[];
}

export class Capacity {
  readonly #limits: readonly number[];
  readonly #partOf: ReadonlyMap<string, Part>;

  constructor({ maxWorkerConcurrency, partitions }: CapacityConfig) {
    this.#limits = [maxWorkerConcurrency, ...partitions.map(({ capacity }) => capacity)];
    this.#partOf = new Map(
      partitions.flatMap(({ functions }, index) => functions.map((slug) => [slug, index + 1] as const)),
    );
  }

  /** The part that a request of this function takes. */
  partOf(functionSlug: string): Part {
    return this.#partOf.get(functionSlug) ?? MAIN;
  }

  limitOf(part: Part): number {
    return this.#limits[part] ?? 0;
  }
}
