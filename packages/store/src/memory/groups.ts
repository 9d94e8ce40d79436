/** Values by a key, such as the jobs of each function. */
export class Groups<Value> {
  readonly #sets = new Map<string, Set<Value>>();

  add(key: string, value: Value): void {
    const known = this.#sets.get(key);
    if (known) known.add(value);
    else this.#sets.set(key, new Set([value]));
  }

  delete(key: string, value: Value): void {
    const known = this.#sets.get(key);
    known?.delete(value);
    if (known?.size === 0) this.#sets.delete(key);
  }

  of(key: string): Iterable<Value> {
    return this.#sets.get(key) ?? [];
  }

  has(key: string): boolean {
    return this.#sets.has(key);
  }
}
