/**
 * Everything main does by the clock, most of it by shared memory instead of messages: its own sign of life, the lease
 * guard, the watch for a thread that hangs, and for steps that take long. The memory is in `shared/shared-counters.ts`.
 */
import { type Clock, readClocks, type TimerHandle, type Timers } from "@holdfast/core";
import type { InitMessage } from "../shared/messages.ts";
import { COUNTERS_BYTES, pulseMsFor, type SharedCounters, sharedCounters } from "../shared/shared-counters.ts";
import type { Closer } from "./closer.ts";
import { HangWatch } from "./hang-watch.ts";
import { isInspectorOpen } from "./inspector.ts";
import { createInspectors, type InspectorAccess, type Inspectors } from "./inspectors.ts";
import { LeaseGuard, type LeaseGuardDeps } from "./lease-guard.ts";
import type { Ledger } from "./ledger.ts";
import { LongSteps, type LongStepsDeps } from "./long-steps.ts";

export interface ThreadWatchDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ledger: Ledger;
  /** Default: no other connection has a thread that watches main. */
  readonly inspectors?: Inspectors | undefined;
  readonly stallThresholdMs: number | null;
  readonly hangMs: number;
  readonly closing: Closer["closing"];
  readonly setLeaseWanted: LeaseGuardDeps["setLeaseWanted"];
  readonly running: LongStepsDeps["running"];
  readonly sayLongSteps: LongStepsDeps["send"];
  readonly onHung: (silentMs: number) => void;
}

export class ThreadWatch {
  readonly leaseGuard: LeaseGuard;
  readonly #deps: ThreadWatchDeps;
  readonly #hang: HangWatch;
  readonly #longSteps: LongSteps;
  readonly #tickMs: number;
  readonly #inspectors: Inspectors;
  #inspector: InspectorAccess | undefined;
  #counters: SharedCounters = sharedCounters(new SharedArrayBuffer(COUNTERS_BYTES));
  #timer: TimerHandle | undefined;

  constructor(deps: ThreadWatchDeps) {
    const { ledger, clock, stallThresholdMs, setLeaseWanted: want } = deps;
    const counters = (): SharedCounters => this.#counters;
    this.#deps = deps;
    this.#inspectors = deps.inspectors ?? createInspectors();
    this.#tickMs = pulseMsFor(stallThresholdMs);
    this.leaseGuard = new LeaseGuard({ counters, ledger, clock, setLeaseWanted: want });
    this.#longSteps = new LongSteps({ clock, ledger, running: deps.running, send: deps.sayLongSteps });
    this.#hang = new HangWatch({ ...deps, counters, tickMs: this.#tickMs, nowMs: clock.nowMs });
  }

  get counters(): SharedCounters {
    return this.#counters;
  }

  /** How long the thread has given no sign of life. */
  get silentMs(): number {
    return this.#counters.readSilentMs(this.#deps.clock.monotonicMs());
  }

  /** The thread runs: it has given a sign of life, besides the one that it is given to begin with. */
  get hasStarted(): boolean {
    return this.#counters.readSigns() > 1;
  }

  /** What the next thread is given. One that hung, should it wake up, writes to memory that is no longer read. */
  prepareThread(): Pick<InitMessage, "counters" | "doubtNumber" | "inspector"> {
    const doubtNumber = this.#counters.readDoubtNumber() + 1;
    const memory = new SharedArrayBuffer(COUNTERS_BYTES);
    this.#counters = sharedCounters(memory);
    this.#counters.addPulse();
    this.#counters.setDebugged(isInspectorOpen());
    this.#counters.setDoubtNumber(doubtNumber);
    this.#counters.signAlive(readClocks(this.#deps.clock));
    this.leaseGuard.onNewThread();
    this.#longSteps.onNewThread();
    this.#hang.onThreadStarted();
    const inspector = this.#inspectors.add();
    this.#inspector = inspector;
    return { counters: memory, doubtNumber, inspector };
  }

  onThreadEnded(): void {
    if (this.#inspector) this.#inspectors.onThreadEnded(this.#inspector.thread);
    this.#hang.onThreadEnded();
  }

  tick(): void {
    this.#counters.addPulse();
    this.#counters.setDebugged(isInspectorOpen());
    this.leaseGuard.recheck();
    this.#hang.tick();
    this.#longSteps.tick();
    this.#timer = this.#deps.timers.set(this.#tickMs, () => this.tick(), { unref: true });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
