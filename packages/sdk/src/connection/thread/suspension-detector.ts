/**
 * Notices that this thread, or the whole process, did not run for a while: then others may have got its work
 * (docs/decisions/0036). The same tick is the sign of life that main watches.
 */
import {
  type Clock,
  type ClockReading,
  readClocks,
  suspensionBetween,
  type TimerHandle,
  type Timers,
} from "@holdfast/core";
import { suspensionLimitMs } from "../machines/intervals.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { Emit, ThreadEffect } from "./thread-effect.ts";

/** Signs per limit, so that only a suspension looks like one. */
const SIGNS = 8;

export interface SuspensionDetectorDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly counters: Pick<SharedCounters, "signAlive" | "setSuspensionLimit">;
}

type Suspended = Extract<ThreadEffect, { do: "THREAD_SUSPENDED" }>;

export class SuspensionDetector {
  readonly #deps: SuspensionDetectorDeps;
  readonly #emit: Emit<Suspended>;
  #limitMs = suspensionLimitMs();
  #last: ClockReading;
  #timer: TimerHandle | undefined;

  constructor(deps: SuspensionDetectorDeps, emit: Emit<Suspended>) {
    this.#deps = deps;
    this.#emit = emit;
    this.#last = readClocks(deps.clock);
    deps.counters.setSuspensionLimit(this.#limitMs);
    deps.counters.signAlive(this.#last);
    this.#schedule();
  }

  /** Called by the timer, and before anything from outside is read: after a suspension that may come first. */
  check(): void {
    const { clock, counters } = this.#deps;
    const now = readClocks(clock);
    const isSuspended = suspensionBetween(this.#last, now, this.#limitMs) !== null;
    const stoodMs = now.monotonicMs - this.#last.monotonicMs;
    const jumpMs = now.wallMs - this.#last.wallMs - stoodMs;
    this.#last = now;
    if (isSuspended) this.#emit({ do: "THREAD_SUSPENDED", stoodMs, jumpMs, limitMs: this.#limitMs });
    // The last thing: who sees the sign sees what followed from the suspension.
    counters.signAlive(now);
  }

  /** So often leases are extended on the connection that is there now. */
  setLeaseInterval(extendLeaseMs: number): void {
    this.check();
    this.#limitMs = suspensionLimitMs(extendLeaseMs);
    this.#deps.counters.setSuspensionLimit(this.#limitMs);
    this.#timer?.cancel();
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #schedule(): void {
    const fire = (): void => {
      this.#schedule();
      this.check();
    };
    this.#timer = this.#deps.timers.set(this.#limitMs / SIGNS, fire, { unref: true });
  }
}
