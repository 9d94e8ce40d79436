/** A bounded memory of requests that were answered, so that one delivered twice is not run twice. */

/** Remembers the last `capacity` ids that were added. */
export class RecentIds {
  readonly #capacity: number;
  readonly #ids = new Set<string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(id: string): void {
    this.#ids.delete(id);
    this.#ids.add(id);
    if (this.#ids.size <= this.#capacity) return;
    for (const oldest of this.#ids) {
      this.#ids.delete(oldest);
      return;
    }
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
