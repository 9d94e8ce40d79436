/**
 * Collections that most runs have nothing in, of which each run and each decision has several: an empty `Map` takes as
 * much memory as a small run.
 */

/** A map that takes no memory while it is empty. */
export class LazyMap<Key, Value> implements ReadonlyMap<Key, Value> {
  #map: Map<Key, Value> | null = null;

  get size(): number {
    return this.#map === null ? 0 : this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map?.get(key);
  }

  has(key: Key): boolean {
    return this.#map?.has(key) === true;
  }

  set(key: Key, value: Value): void {
    this.#map ??= new Map();
    this.#map.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#map?.delete(key) === true;
  }

  clear(): void {
    this.#map = null;
  }

  keys(): MapIterator<Key> {
    return this.#entries.keys();
  }

  values(): MapIterator<Value> {
    return this.#entries.values();
  }

  entries(): MapIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#entries[Symbol.iterator]();
  }

  forEach(visit: (value: Value, key: Key, map: ReadonlyMap<Key, Value>) => void): void {
    this.#map?.forEach((value, key) => {
      visit(value, key, this);
    });
  }

  get #entries(): ReadonlyMap<Key, Value> {
    return this.#map ?? (NOTHING as ReadonlyMap<Key, Value>);
  }
}

/** A set that takes no memory while it is empty. */
export class LazySet<Value> implements Iterable<Value> {
  #set: Set<Value> | null = null;

  get size(): number {
    return this.#set === null ? 0 : this.#set.size;
  }

  has(value: Value): boolean {
    return this.#set?.has(value) === true;
  }

  add(value: Value): void {
    this.#set ??= new Set();
    this.#set.add(value);
  }

  addAll(values: Iterable<Value>): this {
    for (const value of values) this.add(value);
    return this;
  }

  delete(value: Value): boolean {
    return this.#set?.delete(value) === true;
  }

  clear(): void {
    this.#set = null;
  }

  [Symbol.iterator](): Iterator<Value> {
    return (this.#set ?? NONE)[Symbol.iterator]();
  }
}

const NOTHING: ReadonlyMap<unknown, unknown> = new Map();
const NONE: readonly never[] = [];
