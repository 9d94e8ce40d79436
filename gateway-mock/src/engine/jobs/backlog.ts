import type { VersionHolds } from "./version-holds.ts";

/**
 * Functions of which older jobs are known to wait: because nobody had room for them, or for a worker of their version. New
 * ones have to queue up behind them.
 */
export class Backlog {
  readonly #held: Pick<VersionHolds, "has" | "size">;
  readonly #functionIds = new Set<string>();

  constructor(held: Pick<VersionHolds, "has" | "size">) {
    this.#held = held;
  }

  get isEmpty(): boolean {
    return this.#functionIds.size === 0 && this.#held.size === 0;
  }

  has(functionId: string): boolean {
    return this.#functionIds.has(functionId) || this.#held.has(functionId);
  }

  /** Jobs of this function are in the queue because nobody had room. */
  add(functionId: string): void {
    this.#functionIds.add(functionId);
  }

  /** All that was due of this function has been taken. */
  delete(functionId: string): void {
    this.#functionIds.delete(functionId);
  }
}
