/**
 * Which apps this process has connected. One that is connected twice mostly has had its module loaded again, as hot reload
 * does: the connection of before goes on with the old code, and both are given runs.
 */

/** A reload may load this package again, so the counts belong to the process. */
const KEY = Symbol.for("holdfast.connectedApps");

interface Counts {
  [KEY]?: Map<string, number>;
}

export interface ConnectedApp {
  readonly id: string;
  readonly version: string | undefined;
}

/** At one gateway, in one environment. */
export class ConnectedApps {
  readonly #place: string;
  readonly #counts: Map<string, number>;

  constructor(place: string, owner: object = globalThis) {
    this.#place = place;
    const counts: Counts = owner;
    counts[KEY] ??= new Map();
    this.#counts = counts[KEY];
  }

  /** Counts them until the returned function is called. `twice`: ids of those that were connected already. */
  add(apps: readonly ConnectedApp[]): { readonly twice: readonly string[]; remove(): void } {
    const keys = apps.map(({ id, version = "" }) => JSON.stringify([this.#place, id, version]));
    const twice = apps.filter((_, at) => this.#counts.has(keys[at] ?? "")).map(({ id }) => id);
    for (const key of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    const remove = (): void => {
      for (const key of keys.splice(0)) {
        const left = (this.#counts.get(key) ?? 1) - 1;
        if (left > 0) this.#counts.set(key, left);
        else this.#counts.delete(key);
      }
    };
    return { twice, remove };
  }
}
