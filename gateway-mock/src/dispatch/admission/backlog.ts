/** Functions of which jobs were put off because they wait for a worker of their version. */
export interface HeldFunctions {
  readonly size: number;
  has(functionId: string): boolean;
}

/**
 * Functions of which older jobs are known to wait: because no worker had capacity for them, for a worker of their
 * version, or because their limits were reached. New ones have to queue up behind them.
 */
export class Backlog {
  readonly #heldFunctions: HeldFunctions;
  readonly #functionIds = new Set<string>();
  /** Those that no worker here would take: there is nothing to look for when one has room. */
  readonly #unserved = new Set<string>();
  /** Those whose limits were reached: likewise, until a run of theirs gives up its place. */
  readonly #limited = new Set<string>();

  constructor(held: HeldFunctions) {
    this.#heldFunctions = held;
  }

  /** Nothing waits that a worker here may have once it has room. */
  get isEmpty(): boolean {
    return this.#functionIds.size === 0 && this.#heldFunctions.size === 0;
  }

  has(functionId: string): boolean {
    if (this.#functionIds.has(functionId) || this.#unserved.has(functionId)) return true;
    return this.#limited.has(functionId) || this.#heldFunctions.has(functionId);
  }

  /** Jobs of this function are in the queue because no worker had capacity. */
  add(functionId: string): void {
    this.#functionIds.add(functionId);
  }

  /** The same, because no worker here serves the queue of the function. */
  addUnserved(functionId: string): void {
    if (!this.#functionIds.has(functionId)) this.#unserved.add(functionId);
  }

  /** The same, because the limits of the function are reached. */
  addLimited(functionId: string): void {
    this.#limited.add(functionId);
  }

  /** A look asked for these. Whether others have a place within their limits by now is not known: they wait for room. */
  onAsked(asked: ReadonlySet<string>): void {
    for (const functionId of this.#limited) {
      if (asked.has(functionId)) continue;
      this.#limited.delete(functionId);
      this.#functionIds.add(functionId);
    }
  }

  /** A worker here takes work of these functions now. */
  onServed(functionIds: Iterable<string>): void {
    if (this.#unserved.size === 0) return;
    for (const functionId of functionIds) if (this.#unserved.delete(functionId)) this.#functionIds.add(functionId);
  }

  /** All that was due of this function has been taken. */
  delete(functionId: string): void {
    this.#functionIds.delete(functionId);
    this.#unserved.delete(functionId);
    this.#limited.delete(functionId);
  }
}
