/**
 * Tells the gateway how this worker is, where the extension "state" was agreed on: soon after a change, and now and then
 * without one. It goes on while main is blocked, and what it sends changes nothing of any run (docs/decisions/0128).
 */
import type { Clock, TimerHandle, Timers } from "@holdfast/core";
import { allocatePooled, encodeWorkerFrame, type WorkerState } from "@holdfast/protocol";
import { type StateReading, workerStateFrame } from "./worker-state-frame.ts";

export interface StateReportsDeps {
  readonly read: () => StateReading;
  readonly send: (bytes: Uint8Array) => void;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  /** Without a change. */
  readonly everyMs: number;
}

/** With changes all the time there are this many reports instead of one. */
const TIMES_AS_OFTEN = 5;

export class StateReports {
  readonly #deps: StateReportsDeps;
  readonly #shortestMs: number;
  #timer: TimerHandle | undefined;
  /** Since the connection is ready; null: nothing was sent. */
  #last: { readonly atMs: number; readonly text: string } | null = null;

  constructor(deps: StateReportsDeps) {
    this.#deps = deps;
    this.#shortestMs = deps.everyMs / TIMES_AS_OFTEN;
  }

  /** The connection is ready, and its gateway wants to hear it. The first report comes after what makes it so. */
  start(): void {
    this.stop();
    this.#schedule();
  }

  /** There is no connection any more, or none that wants it. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#last = null;
  }

  /** Main is blocked, or responsive again: worth a report of its own, unless there was one just now. */
  onStallChange(): void {
    if (this.#last === null || this.#sinceMs(this.#last.atMs) < this.#shortestMs) return;
    this.#send(this.#read());
  }

  #schedule(): void {
    this.#timer = this.#deps.timers.set(this.#shortestMs, () => {
      this.#schedule();
      this.#look();
    });
  }

  #look(): void {
    const frame = this.#read();
    const isDue = this.#last === null || this.#sinceMs(this.#last.atMs) > this.#deps.everyMs - this.#shortestMs / 2;
    if (isDue || frame.mainLagMs > 0 || textOf(frame) !== this.#last?.text) this.#send(frame);
  }

  #read(): WorkerState {
    return workerStateFrame(this.#deps.read());
  }

  #send(frame: WorkerState): void {
    this.#last = { atMs: this.#deps.clock.monotonicMs(), text: textOf(frame) };
    this.#deps.send(encodeWorkerFrame(frame, allocatePooled));
  }

  #sinceMs(atMs: number): number {
    return this.#deps.clock.monotonicMs() - atMs;
  }
}

/** What counts as a change: numbers that grow by themselves do not. */
function textOf(frame: WorkerState): string {
  const { phase, inFlight, outboxCount, outboxFull, reconnectAttempts, crashes, lastError, stalls, logsDropped } =
    frame;
  const { oldestMs: _, ...pool } = frame.pool ?? {};
  const changing = [
    phase,
    inFlight,
    outboxCount,
    outboxFull,
    reconnectAttempts,
    crashes,
    lastError,
    stalls,
    logsDropped,
  ];
  return JSON.stringify([...changing, frame.mainLagMs > 0, Object.values(pool)]);
}
