/** Watches for requests that are not acknowledged in time; `Dispatches` decides what becomes of them. */
import type { TimerHandle } from "@holdfast/core";
import type { DispatcherOptions } from "../ports.ts";
import type { Dispatch } from "./dispatch.ts";

/** Requests that were sent and not acknowledged yet, in the order in which they were sent. */
export class AckTimeouts {
  readonly #options: DispatcherOptions;
  readonly #onLate: (dispatches: readonly Dispatch[]) => void;
  readonly #sent: { readonly dispatch: Dispatch; readonly sentMs: number }[] = [];
  #timer: TimerHandle | null = null;

  /** `onLate` is given those that were not acknowledged within `requestAckMs`; some may be over by then. */
  constructor(options: DispatcherOptions, onLate: (dispatches: readonly Dispatch[]) => void) {
    this.#options = options;
    this.#onLate = onLate;
  }

  add(dispatch: Dispatch, sentMs: number): void {
    this.#sent.push({ dispatch, sentMs });
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #arm(): void {
    const first = this.#sent[0];
    if (this.#timer || !first) return;
    const { settings, clock, timers } = this.#options;
    const leftMs = first.sentMs + settings.requestAckMs - clock.monotonicMs();
    this.#timer = timers.set(Math.max(leftMs, 50), () => this.#sweep(), { unref: true });
  }

  #sweep(): void {
    this.#timer = null;
    const { settings, clock } = this.#options;
    const beforeMs = clock.monotonicMs() - settings.requestAckMs;
    const next = this.#sent.findIndex(({ sentMs }) => sentMs > beforeMs);
    const due = this.#sent.splice(0, next < 0 ? this.#sent.length : next);
    const late = due.flatMap(({ dispatch }) => (dispatch.acked ? [] : [dispatch]));
    if (late.length > 0) this.#onLate(late);
    this.#arm();
  }
}
