/**
 * The order of a run's results, which is the order in which its code is given them. What ends a wait (a timer, an event)
 * is stored when it comes, and a pass that is under way by then is given it later than results of its own that are
 * stored after it. So results say how many the code had been given before (docs/decisions/0153).
 */
import type { Op } from "@holdfast/protocol";
import type { RunState } from "./run-state.ts";

/** Reads where the results of one report belong. */
export class ResultPlaces {
  readonly #state: Pick<RunState, "memo" | "open">;
  #next: number | undefined;
  #added = 0;

  constructor(state: Pick<RunState, "memo" | "open">) {
    this.#state = state;
  }

  /**
   * The place of a result, to be called for each of a report, in its order; undefined: it follows all others. Where
   * something is waited for it is always said: what this gateway knows may be older than what is stored.
   */
  placeOf({ position }: Pick<Op, "position">, isNew: boolean): number | undefined {
    const before = this.#state.memo.size + this.#added;
    if (isNew) this.#added += 1;
    const place = position ?? this.#next;
    if (place === undefined) return undefined;
    this.#next = place + 1;
    return place < before || this.#state.open.size > 0 ? place : undefined;
  }
}

/** Moves the last of `entries` to its place. */
export function placeLast<Value>(entries: Map<string, Value>, at: number): void {
  if (at >= entries.size - 1) return;
  const all = [...entries];
  const last = all.pop();
  if (last) all.splice(at, 0, last);
  entries.clear();
  for (const [key, value] of all) entries.set(key, value);
}
