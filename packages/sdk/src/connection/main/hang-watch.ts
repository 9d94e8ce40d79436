/**
 * Main's watch over the connection thread: counts its own ticks without a sign of life from it, and says when it
 * hangs. The rules are in `machines/hang-machine.ts`, the reasons in docs/decisions/0037.
 */
import { createDriver, type Driver } from "@holdfast/core";
import { HANG_START, type HangEffect, type HangEvent, type HangState, stepHang } from "../machines/hang-machine.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";

export const HANG_TIMEOUT_MS = 10_000;
/** A thread that is to end, and that nothing is left for, gets only this long. */
const IDLE_END_MS = 1_000;
/** While closing with work in flight: there must be time for another thread. */
const DRAIN_SHARE = 3;

export interface HangWatchDeps {
  readonly tickMs: number;
  readonly hangMs: number;
  readonly nowMs: () => number;
  /** Of the thread that lives. */
  readonly counters: () => Pick<SharedCounters, "readSigns" | "readDebugged" | "readInspecting">;
  /** While closing: how long was left at its beginning, and what is in flight. */
  readonly closing: () => { readonly drainMs: number; readonly inFlight: number } | null;
  readonly onHung: (silentMs: number) => void;
}

export class HangWatch {
  readonly #deps: HangWatchDeps;
  readonly #driver: Driver<HangState, HangEvent>;

  constructor(deps: HangWatchDeps) {
    this.#deps = deps;
    this.#driver = createDriver<HangState, HangEvent, HangEffect>({
      initial: HANG_START,
      step: stepHang,
      run: () => deps.onHung(this.#limitMs()),
      nowMs: deps.nowMs,
      traceSize: 1,
    });
  }

  onThreadStarted(): void {
    this.#driver.send({ type: "STARTED", signs: this.#deps.counters().readSigns() });
  }

  onThreadEnded(): void {
    this.#driver.send({ type: "ENDED" });
  }

  tick(): void {
    const { tickMs } = this.#deps;
    const counters = this.#deps.counters();
    this.#driver.send({
      type: "TICK",
      signs: counters.readSigns(),
      limitTicks: Math.max(1, Math.ceil(this.#limitMs() / tickMs)),
      debugged: counters.readDebugged(),
      isInspecting: counters.readInspecting(),
    });
  }

  #limitMs(): number {
    const { hangMs, closing } = this.#deps;
    const end = closing();
    if (end === null) return hangMs;
    return Math.min(hangMs, end.inFlight === 0 ? IDLE_END_MS : Math.max(IDLE_END_MS, end.drainMs / DRAIN_SHARE));
  }
}
