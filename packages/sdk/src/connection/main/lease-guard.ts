import { type Clock, readClocks } from "@holdfast/core";
import type { StopSignal } from "../../execution/execution.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { Ledger } from "./ledger.ts";

export interface LeaseGuardDeps {
  /** Of the thread that lives, or lived last. */
  readonly counters: () => SharedCounters;
  readonly ledger: Pick<Ledger, "epochOf">;
  readonly clock: Clock;
}

/**
 * Whether code of a request may begin now. Asked before every body, since the process may have been stopped at any
 * moment; it costs a look at two clocks and at shared memory.
 *
 * B1. Nothing begins while the connection thread is silent: both may just have woken, and main be the first.
 * B2. Nothing begins that is not confirmed as of the thread's epoch.
 * B3. Nothing begins while a message that takes work away waits to be read.
 * B4. Who waits goes on when all of this holds, or the work is not wanted any more: then its signal has fired.
 */
export class LeaseGuard {
  readonly #deps: LeaseGuardDeps;
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Messages of the thread that took work away and were read. */
  #taken = 0;

  constructor(deps: LeaseGuardDeps) {
    this.#deps = deps;
  }

  /** Undefined = it may begin; else settles when it is to be asked again. */
  wait(requestId: string, signal: StopSignal): Promise<void> | undefined {
    if (signal.aborted || this.#isOpen(requestId)) return undefined;
    return new Promise((resolve) => {
      const others = this.#waiting.get(requestId);
      if (others) others.push(resolve);
      else this.#waiting.set(requestId, [resolve]);
      signal.addEventListener("abort", resolve, { once: true });
    });
  }

  /** A message that takes work away was read. */
  onRevocation(): void {
    this.#taken += 1;
  }

  /** A new thread has a memory of its own. */
  newThread(): void {
    this.#taken = 0;
  }

  /** Something changed, or time has passed. */
  recheck(): void {
    for (const [requestId, resolves] of this.#waiting) {
      if (!this.#isOpen(requestId)) continue;
      this.#waiting.delete(requestId);
      for (const resolve of resolves) resolve();
    }
  }

  #isOpen(requestId: string): boolean {
    const { counters, ledger, clock } = this.#deps;
    const epoch = ledger.epochOf(requestId);
    const shared = counters();
    // In this order: the thread gives its sign of life last.
    return (
      !shared.isSilent(readClocks(clock)) && shared.readEpoch() === epoch && shared.readWorkTaken() === this.#taken
    );
  }
}
