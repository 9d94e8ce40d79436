/**
 * Processes what comes about one key in the order in which it came, also where some of it takes several turns of the event
 * loop to read. `WorkerReplies` orders by it what workers send about one request.
 */
export class PerKeyOrder {
  readonly #last = new Map<string, Promise<void>>();

  /** `act` is called at once when there is nothing to wait for. */
  process<Value>(key: string, value: Value | Promise<Value>, act: (value: Value) => void): void {
    const before = this.#last.get(key);
    if (!before && !(value instanceof Promise)) return act(value);
    const mine = Promise.all([value, before]).then(([read]) => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
      act(read);
    });
    this.#last.set(key, mine);
  }
}
