/** Requests that are named, so the ids of their events follow from that: what an earlier one has stored is not made again. */
import type { Store } from "@holdfast/store";
import { RepeatedRequests } from "./repeated-requests.ts";

/** A request of so many events is looked up before it is stored: that is one statement, and a repeat needs no other. */
const LOOKED_UP_FIRST = 100;
const NONE: ReadonlySet<string> = new Set();

export interface NamedRequestsParts<Event> {
  readonly store: Pick<Store, "storedEvents">;
  /** The ids of the stored events, in order. */
  readonly write: (events: readonly Event[]) => Promise<readonly string[]>;
  /** So many events were there already. */
  readonly onKnown: (count: number) => void;
}

export class NamedRequests<Event extends { readonly id: string }> {
  readonly #parts: NamedRequestsParts<Event>;
  readonly #repeats = new RepeatedRequests();

  constructor(parts: NamedRequestsParts<Event>) {
    this.#parts = parts;
  }

  /** The ids of the stored events, in order. */
  store(events: readonly Event[]): Promise<string[]> {
    // Those of one name have the same first id.
    return this.#repeats.inTurn(events[0]?.id ?? "", (isRepeat) => this.#store(events, isRepeat));
  }

  async #store(events: readonly Event[], isRepeat: boolean): Promise<string[]> {
    const looksFirst = isRepeat || events.length >= LOOKED_UP_FIRST;
    // Without an answer it is written all the same: writes are tried for longer, and find what is there themselves.
    const known = looksFirst ? await this.#storedOf(events).catch(() => NONE) : NONE;
    try {
      return await this.#storeOthers(events, known);
    } catch (error) {
      // An answer was lost, or only some of them could be stored.
      const found = await this.#storedOf(events);
      if (found.size === known.size) throw error;
      return this.#storeOthers(events, found);
    }
  }

  async #storedOf(events: readonly Event[]): Promise<ReadonlySet<string>> {
    return new Set(await this.#parts.store.storedEvents(events.map(({ id }) => id)));
  }

  async #storeOthers(events: readonly Event[], known: ReadonlySet<string>): Promise<string[]> {
    const missing = known.size === 0 ? events : events.filter(({ id }) => !known.has(id));
    const ids = missing.length === 0 ? [] : await this.#parts.write(missing);
    this.#parts.onKnown(known.size);
    const stored = new Map(missing.map(({ id }, index) => [id, ids[index] ?? id]));
    return events.map(({ id }) => stored.get(id) ?? id);
  }
}
