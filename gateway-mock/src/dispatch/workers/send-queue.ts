/**
 * Requests that wait for room on a worker's socket (docs/decisions/0035). The worker does not know of them yet, so
 * their leases are extended from here.
 */
import { readClocks, type TimerHandle } from "@holdfast/core";
import type { DispatcherOptions } from "../ports.ts";
import type { Dispatch } from "./dispatch.ts";

/**
 * Requests that wait for room on their worker's socket. Their workers do not know of them, so their leases are kept
 * here.
 */
export class SendQueue {
  readonly #options: DispatcherOptions;
  readonly #onLost: (dispatch: Dispatch) => void;
  readonly #waiting = new Set<Dispatch>();
  #timer: TimerHandle | null = null;

  /** `onLost` gets those that another worker has meanwhile. */
  constructor(options: DispatcherOptions, onLost: (dispatch: Dispatch) => void) {
    this.#options = options;
    this.#onLost = onLost;
  }

  add(dispatch: Dispatch): void {
    this.#waiting.add(dispatch);
    if (!this.#timer) this.#arm();
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

  /** As often as the workers would. */
  #arm(): void {
    const everyMs = Math.min(...[...this.#waiting].flatMap(({ worker }) => worker?.session.extendLeaseMs ?? []));
    this.#timer = Number.isFinite(everyMs)
      ? this.#options.timers.set(everyMs, () => void this.#extend(), { unref: true })
      : null;
  }

  async #extend(): Promise<void> {
    const { store, settings, clock } = this.#options;
    const { gatewayId } = settings;
    const leased = [...this.#waiting].flatMap((dispatch) => {
      const { fence, worker } = dispatch;
      return worker ? [{ dispatch, lease: { ...fence, gatewayId, leaseMs: worker.session.leaseMs } }] : [];
    });
    const leasedAt = readClocks(clock);
    try {
      const ours = leased.length > 0 ? await store.extendLeases(leased.map(({ lease }) => lease)) : [];
      for (const [index, { dispatch }] of leased.entries()) {
        if (ours[index]) dispatch.leasedAt = leasedAt;
        else if (this.#waiting.has(dispatch)) this.#onLost(dispatch);
      }
    } catch {
      // The next time, or the leases end and another worker takes them.
    }
    this.#arm();
  }
}
