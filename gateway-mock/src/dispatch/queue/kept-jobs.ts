/** Keeps the leases of jobs that this gateway is at by itself: all of them with one timer, and in few statements. */
import type { TimerHandle } from "@holdfast/core";
import type { Fence } from "@holdfast/store";
import type { DispatcherOptions } from "../ports.ts";

const EXTEND_EVERY_MS = 5_000;
/** Of one statement. */
const AT_ONCE = 500;

/**
 * Jobs whose leases go on until they are let go. One that is over soon costs nothing: a lease is extended from the
 * second time on that the timer finds the job, which is within ten seconds.
 */
export class KeptJobs {
  readonly #options: Pick<DispatcherOptions, "store" | "settings" | "timers">;
  readonly #leaseMs: number;
  readonly #young = new Set<Fence>();
  readonly #old = new Set<Fence>();
  #timer: TimerHandle | null = null;

  /** `leaseMs`: well over ten seconds. */
  constructor(options: Pick<DispatcherOptions, "store" | "settings" | "timers">, leaseMs: number) {
    this.#options = options;
    this.#leaseMs = leaseMs;
  }

  keep(fence: Fence): void {
    this.#young.add(fence);
    this.#timer ??= this.#options.timers.set(EXTEND_EVERY_MS, () => this.#extend());
  }

  letGo(fence: Fence): void {
    this.#young.delete(fence);
    this.#old.delete(fence);
    if (this.#young.size + this.#old.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #extend(): void {
    const { store, settings, timers } = this.#options;
    const { gatewayId } = settings;
    const leases = [...this.#old].map(({ jobId, epoch }) => ({ jobId, epoch, gatewayId, leaseMs: this.#leaseMs }));
    for (const fence of this.#young) this.#old.add(fence);
    this.#young.clear();
    for (let at = 0; at < leases.length; at += AT_ONCE) {
      // Where it fails leases may end, and another gateway does the same: nothing is done twice.
      store.extendLeases(leases.slice(at, at + AT_ONCE)).catch(() => {});
    }
    this.#timer = timers.set(EXTEND_EVERY_MS, () => this.#extend());
  }
}
