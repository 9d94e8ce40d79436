/** Whether a thread of the pool computes although it is free: its code is what earlier turns left behind. */
import type { ThreadCells } from "../shared/thread-cells.ts";

/** How often main looks. */
export const LOOK_EVERY_MS = 500;

export class BetweenTurns {
  readonly #cells: ThreadCells;
  readonly #slot: number;
  #before: { readonly turn: number; readonly activeMs: number; readonly atMs: number } | undefined;
  #busyMs = 0;

  constructor(cells: ThreadCells, slot: number) {
    this.#cells = cells;
    this.#slot = slot;
  }

  /** For how long it has been found busy, look after look. `activeMs` counts from when it started. */
  look(activeMs: number | undefined, atMs: number): number {
    const { state, turn } = this.#cells.read(this.#slot);
    const before = this.#before;
    this.#before = activeMs === undefined || state !== "free" ? undefined : { turn, activeMs, atMs };
    const isKnown = before !== undefined && this.#before !== undefined && before.turn === turn;
    const elapsedMs = isKnown ? atMs - before.atMs : 0;
    const isBusy = isKnown && (activeMs ?? 0) - before.activeMs > elapsedMs / 2;
    this.#busyMs = isBusy ? this.#busyMs + elapsedMs : 0;
    this.#cells.setKeptBusy(this.#slot, isBusy);
    return this.#busyMs;
  }
}
