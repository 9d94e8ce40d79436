/** Lists as they were left, for the way back to them: in memory, the newest few of them. */
import type { Rows } from "./run-rows.ts";

export interface KeptList {
  /** What it was a list of. */
  readonly address: string;
  readonly rows: Rows;
  readonly scrollY: number;
}

/** Of all that is kept; a list alone may have more. */
const MOST_ROWS = 20_000;
const MOST_LISTS = 20;

/** Pure. */
export class KeptLists {
  readonly #lists = new Map<string, KeptList>();

  keep(id: string, list: KeptList): void {
    this.#lists.delete(id);
    this.#lists.set(id, list);
    let count = [...this.#lists.values()].reduce((sum, { rows }) => sum + rows.runs.length, 0);
    for (const [other, { rows }] of this.#lists) {
      if (other === id || (count <= MOST_ROWS && this.#lists.size <= MOST_LISTS)) return;
      this.#lists.delete(other);
      count -= rows.runs.length;
    }
  }

  /** Null: it is not there any more, or was of something else. */
  take(id: string, address: string): KeptList | null {
    const list = this.#lists.get(id);
    this.#lists.delete(id);
    return list?.address === address ? list : null;
  }
}

export const keptLists = new KeptLists();

let made = 0;

/** Of the entry of the browser's history that is shown, the same when it is come back to. */
export function entryId(): string {
  const known = knownId();
  if (known !== null) return known;
  made += 1;
  // A page that is loaded again counts anew, and entries of before it are still there.
  const id = `${Date.now()}.${made}`;
  history.replaceState({ list: id }, "");
  return id;
}

/** Null: it has none, as an entry that has just been made. */
export function knownId(): string | null {
  const state = history.state as { readonly list?: unknown } | null;
  return typeof state?.list === "string" ? state.list : null;
}
