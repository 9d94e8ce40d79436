/** What evaluating an expression may cost. Some hundred thousand steps are some milliseconds. */
export interface Allowance {
  readonly steps: number;
  readonly bytes: number;
}

class OverBudget extends Error {}

/** One for all: making an error costs more than what it ends. */
const OVER_BUDGET = new OverBudget("It exceeds the limit of work.");

/**
 * Counts the work of one evaluation in steps, which are the same on every machine, and the memory that it takes.
 *
 * METER-1. What may take long, or much memory, is charged before it is done.
 * METER-2. When something is used up, nothing more is done: all that is charged throws, and an evaluation that has
 *     caught that (as `exists` and `||` do) has no value all the same.
 */
export class Meter {
  #left: { steps: number; bytes: number } = { steps: 0, bytes: 0 };
  #given: Allowance = this.#left;
  #isOver = false;

  begin(allowance: Allowance): void {
    this.#given = allowance;
    this.#left = { ...allowance };
    this.#isOver = false;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get usedSteps(): number {
    return this.#given.steps - Math.max(0, this.#left.steps);
  }

  get usedBytes(): number {
    return this.#given.bytes - Math.max(0, this.#left.bytes);
  }

  charge(steps: number, bytes = 0): void {
    this.#left.steps -= steps;
    this.#left.bytes -= bytes;
    if (this.#left.steps < 0 || this.#left.bytes < 0) this.#isOver = true;
    this.check();
  }

  check(): void {
    if (this.#isOver) throw OVER_BUDGET;
  }
}

const keyCounts = new WeakMap<object, number>();

/** How many fields an object has. Counting those of a large one takes long, so it is done once. */
export function keyCount(value: object): number {
  if (value instanceof Map) return value.size;
  const known = keyCounts.get(value);
  if (known !== undefined) return known;
  const count = Object.keys(value).length;
  if (count > 100) keyCounts.set(value, count);
  return count;
}
