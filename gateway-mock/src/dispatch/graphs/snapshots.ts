/**
 * The snapshots of published graphs, which never change, as long as they are asked for: a trigger that fires often reads
 * none from the database.
 */
import type { PublishedGraph, Store } from "@holdfast/store";

/** All that are kept, in characters. */
const MAX_CHARS = 32 * 1024 * 1024;

export class Snapshots {
  readonly #store: Pick<Store, "getGraphVersion">;
  /** The one that was asked for last comes last. */
  readonly #kept = new Map<string, string>();
  readonly #reading = new Map<string, Promise<string | null>>();
  #chars = 0;

  constructor(store: Pick<Store, "getGraphVersion">) {
    this.#store = store;
  }

  /** null: it has been deleted. */
  async of({ uid, version }: Pick<PublishedGraph, "uid" | "version">): Promise<string | null> {
    const key = `${uid}@${version}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept;
    }
    let reading = this.#reading.get(key);
    if (!reading) {
      reading = this.#read(key, uid, version).finally(() => this.#reading.delete(key));
      this.#reading.set(key, reading);
    }
    return reading;
  }

  async #read(key: string, uid: string, version: number): Promise<string | null> {
    const found = await this.#store.getGraphVersion(uid, version);
    if (!found) return null;
    const { snapshotJson } = found;
    this.#kept.set(key, snapshotJson);
    this.#chars += snapshotJson.length;
    for (const [oldest, text] of this.#kept) {
      if (this.#chars <= MAX_CHARS || oldest === key) break;
      this.#kept.delete(oldest);
      this.#chars -= text.length;
    }
    return snapshotJson;
  }
}
