/**
 * The last question before code of a request begins: is it known to be ours? Answered on the main thread from shared
 * memory and the ledger, without a message. See docs/decisions/0036 and 0048; `thread/handover-guard.ts` asks it for
 * what has only just been read.
 */
import { type Clock, type ClockReading, readClocks, suspensionBetween } from "@holdfast/core";
import type { CancelSignal } from "../../execution/abort.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { Ledger } from "./ledger.ts";

export interface LeaseGuardDeps {
  /** Of the thread that lives, or lived last. */
  readonly counters: () => SharedCounters;
  readonly ledger: Pick<Ledger, "doubtNumberOf" | "confirmedAsOf">;
  readonly clock: Clock;
  /** Tells the thread whether a newer confirmation of the request's lease is wanted. */
  readonly setLeaseWanted: (requestId: string, wanted: boolean) => void;
}

interface Waiting {
  readonly resolves: (() => void)[];
  wanted: boolean;
}

/**
 * Whether code of a request may start now. Asked before every body, since the process may have been stopped at any
 * moment; it costs reading two clocks and shared memory.
 *
 * GUARD-1. Nothing starts while the connection thread is silent: both may just have resumed, main being the first.
 * GUARD-2. Nothing starts that was not confirmed after the thread's last doubt.
 * GUARD-3. Nothing starts while a message that takes work away is unread.
 * GUARD-4. A waiting body continues when all of this holds, or when the work is no longer needed: then its signal has
 *     fired.
 * GUARD-5. Nothing starts later than a suspension after the gateway's last confirmation of it, dated by its request: the
 *     connection may have broken unnoticed. Then the thread is told to ask, once, until the wait ends.
 */
export class LeaseGuard {
  readonly #deps: LeaseGuardDeps;
  readonly #waiting = new Map<string, Waiting>();
  /** Messages of the thread that took work away and were read. */
  #revocationsRead = 0;

  constructor(deps: LeaseGuardDeps) {
    this.#deps = deps;
  }

  /** Undefined = it may begin; else settles when it is to be asked again. */
  whenConfirmed(requestId: string, signal: CancelSignal): Promise<void> | undefined {
    const now = readClocks(this.#deps.clock);
    if (signal.aborted || this.#isOpen(requestId, now)) return undefined;
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(requestId) ?? { resolves: [], wanted: false };
      waiting.resolves.push(resolve);
      this.#waiting.set(requestId, waiting);
      this.#setWanted(requestId, waiting, now);
      const end = (): void => {
        this.#release(requestId, waiting);
        resolve();
      };
      signal.addEventListener("abort", end, { once: true });
    });
  }

  /** A message that takes work away was read. */
  onRevocation(): void {
    this.#revocationsRead += 1;
  }

  /** A new thread has its own memory, and knows of no wanted confirmation. */
  onNewThread(): void {
    this.#revocationsRead = 0;
    for (const waiting of this.#waiting.values()) waiting.wanted = false;
  }

  /** Something changed, or time has passed. */
  recheck(): void {
    if (this.#waiting.size === 0) return;
    const now = readClocks(this.#deps.clock);
    for (const [requestId, waiting] of this.#waiting) {
      if (this.#isOpen(requestId, now)) this.#release(requestId, waiting);
      else this.#setWanted(requestId, waiting, now);
    }
  }

  #release(requestId: string, waiting: Waiting): void {
    if (this.#waiting.get(requestId) !== waiting) return;
    this.#waiting.delete(requestId);
    if (waiting.wanted) this.#deps.setLeaseWanted(requestId, false);
    for (const resolve of waiting.resolves) resolve();
  }

  #setWanted(requestId: string, waiting: Waiting, now: ClockReading): void {
    if (waiting.wanted || this.#isRecent(requestId, now)) return;
    waiting.wanted = true;
    this.#deps.setLeaseWanted(requestId, true);
  }

  #isOpen(requestId: string, now: ClockReading): boolean {
    const { counters, ledger } = this.#deps;
    const doubtNumber = ledger.doubtNumberOf(requestId);
    const shared = counters();
    // In this order: the thread gives its sign of life last.
    const isKnown =
      !shared.isSilent(now) &&
      shared.readDoubtNumber() === doubtNumber &&
      shared.readRevocations() === this.#revocationsRead;
    return isKnown && this.#isRecent(requestId, now);
  }

  #isRecent(requestId: string, now: ClockReading): boolean {
    const asOf = this.#deps.ledger.confirmedAsOf(requestId);
    return asOf !== null && suspensionBetween(asOf, now, this.#deps.counters().readSuspensionLimit()) === null;
  }
}
