/** Functions of which jobs were put off because they wait for a worker of their version. */
export interface HeldFunctions {
  readonly size: number;
  has(functionId: string): boolean;
}

/**
 * Functions of which older jobs are known to wait: because no worker had capacity for them, or for a worker of their
 * version. New ones have to queue up behind them.
 */
export class Backlog {
  readonly #heldFunctions: HeldFunctions;
  readonly #functionIds = new Set<string>();

  constructor(held: HeldFunctions) {
    this.#heldFunctions = held;
  }

  get isEmpty(): boolean {
    return this.#functionIds.size === 0 && this.#heldFunctions.size === 0;
  }

  has(functionId: string): boolean {
    return this.#functionIds.has(functionId) || this.#heldFunctions.has(functionId);
  }

  /** Jobs of this function are in the queue because no worker had capacity. */
  add(functionId: string): void {
    this.#functionIds.add(functionId);
  }

  /** All that was due of this function has been taken. */
  delete(functionId: string): void {
    this.#functionIds.delete(functionId);
  }
}
