/**
 * Inspects main for the stall watch: begins a capture of its stack, says when that is late, and keeps what must be known
 * of its session until main has dealt with the end of that.
 */
import type { Clock, TimerHandle, Timers } from "@holdfast/core";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { InspectorSessions } from "./inspector-sessions.ts";
import type { MainCpu } from "./main-cpu.ts";
import type { CaptureHandlers, captureMainStack, MainCapture } from "./main-stack.ts";

/** A main that does not answer its debugger for this long is in native code: the report goes out without a stack. */
export const CAPTURE_MS = 400;
/** On a machine that is taken up by something else the answer may take several times as long. */
const MAX_WAITS = 4;
/** A thread that has waited for a processor for this long has had little of the time. */
const STARVED_MS = CAPTURE_MS / 4;

export interface MainInspectorDeps {
  readonly capture: typeof captureMainStack;
  readonly inspectorSessions: Pick<InspectorSessions, "begin" | "end">;
  readonly counters: SharedCounters;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Timers;
  readonly cpu: Pick<MainCpu, "readWaitedMs">;
  readonly pulseMs: number;
}

export interface InspectionHandlers extends Pick<CaptureHandlers, "onSnapshot" | "onFailed"> {
  /** It may still come to something. */
  readonly onLate: () => void;
}

export class MainInspector {
  readonly #deps: MainInspectorDeps;
  /** Inspections whose session main may still speak to. */
  #unsettled = 0;

  constructor(deps: MainInspectorDeps) {
    this.#deps = deps;
  }

  inspect({ onLate, onSnapshot, onFailed }: InspectionHandlers): MainCapture {
    const { capture, timers, inspectorSessions, counters } = this.#deps;
    const late = this.#setLate(onLate);
    inspectorSessions.begin();
    this.#unsettled += 1;
    counters.setInspecting(true);
    return capture(timers, {
      onSnapshot: (snapshot) => {
        late.cancel();
        onSnapshot(snapshot);
      },
      onFailed: (why) => {
        late.cancel();
        onFailed(why);
      },
      onDisconnected: () => this.#settle(counters.readPulse()),
    });
  }

  /** Not while one of the two threads is given no processor: that is no native code. */
  #setLate(onLate: () => void): TimerHandle {
    const { timers, clock, cpu } = this.#deps;
    let timer: TimerHandle | undefined;
    const wait = (waits: number): void => {
      const [fromMs, waitedMs] = [clock.monotonicMs(), cpu.readWaitedMs() ?? 0];
      timer = timers.set(CAPTURE_MS, () => {
        const lateMs = clock.monotonicMs() - fromMs - CAPTURE_MS;
        const isStarved = Math.max(lateMs, (cpu.readWaitedMs() ?? 0) - waitedMs) > STARVED_MS;
        if (isStarved && waits < MAX_WAITS) wait(waits + 1);
        else onLate();
      });
    };
    wait(1);
    return { cancel: () => timer?.cancel() };
  }

  /**
   * Main deals with the end of a session before it runs any code that comes after it. Of two signs of life the second
   * was given after that.
   */
  #settle(pulse: number): void {
    const { counters, inspectorSessions, timers, pulseMs } = this.#deps;
    if (counters.readPulse() - pulse < 2) {
      timers.set(pulseMs, () => this.#settle(pulse));
      return;
    }
    this.#unsettled -= 1;
    if (this.#unsettled === 0) counters.setInspecting(false);
    inspectorSessions.end();
  }
}
