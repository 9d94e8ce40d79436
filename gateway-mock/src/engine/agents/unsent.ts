import type { TimerHandle } from "@holdfast/core";
import type { EngineOptions } from "../ports.ts";
import type { Dispatch } from "./dispatch.ts";

const EXTEND_EVERY_MS = 2_000;

/** Requests that wait for room on their agent's socket. Their agents do not know of them, so their leases are kept here. */
export class Unsent {
  readonly #options: EngineOptions;
  readonly #onLost: (dispatch: Dispatch) => void;
  readonly #waiting = new Set<Dispatch>();
  #timer: TimerHandle | null = null;

  /** `onLost` is told of those that somebody else has meanwhile. */
  constructor(options: EngineOptions, onLost: (dispatch: Dispatch) => void) {
    this.#options = options;
    this.#onLost = onLost;
  }

  add(dispatch: Dispatch): void {
    this.#waiting.add(dispatch);
    this.#timer ??= this.#options.timers.set(EXTEND_EVERY_MS, () => void this.#extend(), { unref: true });
  }

  /** It is sent, or over. */
  delete(dispatch: Dispatch): void {
    this.#waiting.delete(dispatch);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#waiting.clear();
  }

  async #extend(): Promise<void> {
    const { store, settings, timers } = this.#options;
    const { gatewayId } = settings;
    const waiting = [...this.#waiting];
    const leases = waiting.flatMap(({ fence, slot }) =>
      slot ? [{ ...fence, gatewayId, leaseMs: slot.session.leaseMs }] : [],
    );
    try {
      const ours = leases.length > 0 ? await store.extendLeases(leases) : [];
      const lost = leases.filter((_, index) => ours[index] === false);
      for (const { jobId } of lost) {
        const dispatch = waiting.find(({ fence }) => fence.jobId === jobId);
        if (dispatch && this.#waiting.has(dispatch)) this.#onLost(dispatch);
      }
    } catch {
      // The next time, or the leases end and somebody else takes them.
    }
    if (!this.#timer) return;
    this.#timer =
      this.#waiting.size === 0 ? null : timers.set(EXTEND_EVERY_MS, () => void this.#extend(), { unref: true });
  }
}
