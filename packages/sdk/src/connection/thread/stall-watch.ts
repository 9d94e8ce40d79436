/**
 * The connection thread's watch over main: samples its sign of life, has its stack read, and reports who blocks it: to
 * stderr, the log, the debug state and the gateway. When to do which is decided in `machines/stall-machine.ts`.
 */
import {
  type Clock,
  createDriver,
  type Driver,
  type ErrorCode,
  type IsOwnFile,
  isOwnFileBelow,
  type Log,
  type TimerHandle,
  type Timers,
  unreachable,
} from "@holdfast/core";
import {
  createStallStep,
  initialStall,
  type StallEffect,
  type StallEvent,
  type StallState,
} from "../machines/stall-machine.ts";
import { makeReport, type ReportFacts } from "../machines/stall-report.ts";
import { frameText, stallHeadline, stallText } from "../machines/stall-text.ts";
import { pulseMsFor, type SharedCounters } from "../shared/shared-counters.ts";
import {
  placeOf,
  type RunningRequest,
  type StallDebugState,
  type StallPolicy,
  type StallReport,
} from "../shared/stall.ts";
import type { EmergencyChannel } from "./emergency.ts";
import type { InspectorSessions } from "./inspector-sessions.ts";
import type { MainCpu } from "./main-cpu.ts";
import type { captureMainStack, MainCapture, MainSnapshot } from "./main-stack.ts";
import type { SourceMaps } from "./source-maps.ts";
import type { Emit, StallAction } from "./thread-effect.ts";

/** A main that does not answer its debugger for this long is in native code: the report goes out without a stack. */
const CAPTURE_MS = 400;

/** How to inspect main, and where to report it. */
export interface StallPorts {
  readonly emergency: EmergencyChannel;
  readonly capture: typeof captureMainStack;
  readonly inspectorSessions: Pick<InspectorSessions, "begin" | "end">;
  readonly maps: SourceMaps;
  /** What is known of the processor time of a thread. */
  readonly mainCpu: (task: string | undefined) => MainCpu;
}

export interface StallWatchDeps extends StallPorts {
  readonly policy: StallPolicy;
  /** Reports of earlier threads of this process have lower numbers. */
  readonly firstSequence: number;
  readonly counters: SharedCounters;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly inFlight: { unfinished(): readonly RunningRequest[] };
}

/** One stall, from its first report to its end. */
interface Stall {
  report: StallReport | null;
  /** The capture under way; also kept when it is late. */
  capture: MainCapture | null;
  /** Reports that are being made. */
  making: number;
  /** It has ended: called when nothing is being made any more. */
  conclude: (() => void) | null;
}

type ReportEffect = Extract<StallEffect, { do: "REPORT" }>;

const newStall = (): Stall => ({ report: null, capture: null, making: 0, conclude: null });

export class StallWatch {
  readonly #deps: StallWatchDeps;
  readonly #emit: Emit<StallAction>;
  readonly #pulseMs: number;
  readonly #cpu: MainCpu;
  readonly #isOwnFile: IsOwnFile;
  readonly #driver: Driver<StallState, StallEvent>;
  #timer: TimerHandle | undefined;
  #stall = newStall();
  #last: StallDebugState["last"] = null;
  #sequence: number;
  /** Inspections whose session main may still speak to. */
  #unsettled = 0;
  #counts = { count: 0, reports: 0, suppressed: 0 };

  constructor(deps: StallWatchDeps, emit: Emit<StallAction>) {
    const { policy, counters, clock } = deps;
    this.#deps = deps;
    this.#emit = emit;
    this.#sequence = deps.firstSequence;
    this.#pulseMs = pulseMsFor(policy.thresholdMs);
    this.#cpu = deps.mainCpu(policy.mainTask);
    this.#isOwnFile = isOwnFileBelow(policy.ownFolder ?? null);
    this.#driver = createDriver<StallState, StallEvent, StallEffect>({
      initial: initialStall(counters.readPulse(), clock.monotonicMs()),
      step: createStallStep({ ...policy, pulseMs: this.#pulseMs }),
      run: (effect) => this.#run(effect),
      nowMs: () => clock.nowMs(),
      traceSize: 1,
    });
    this.#schedule();
  }

  /** How long main has been stalled beyond its usual interval; 0 = it is responsive. */
  get lagMs(): number {
    const { blockedMs, sampledAtMs, pulse } = this.#driver.state.sample;
    if (this.#deps.counters.readPulse() !== pulse) return 0;
    const nowMs = blockedMs + Math.min(this.#deps.clock.monotonicMs() - sampledAtMs, 2 * this.#pulseMs);
    // Both sides act once a pulse, so up to two of them mean nothing.
    return nowMs <= 3 * this.#pulseMs ? 0 : Math.round(nowMs - this.#pulseMs);
  }

  /** Main said something. */
  onMainMessage(): void {
    if (this.#driver.state.phase === "stalled")
      this.#driver.send({ type: "MESSAGE", atMs: this.#deps.clock.monotonicMs() });
  }

  debugState(): StallDebugState {
    const { state } = this.#driver;
    const { policy, counters } = this.#deps;
    const detection = policy.thresholdMs === null ? "off" : counters.readDebugged() ? "debugger" : "on";
    const current =
      state.phase === "stalled"
        ? { stalledMs: Math.round(state.sample.blockedMs), leasesGivenUp: state.gaveUp, report: this.#stall.report }
        : null;
    const { count, reports, suppressed } = this.#counts;
    return { detection, count, reports, suppressed: suppressed + state.history.suppressed, current, last: this.#last };
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stall.capture?.cancel();
  }

  #schedule(): void {
    const { counters, clock, timers, policy } = this.#deps;
    this.#timer = timers.set(
      this.#pulseMs,
      () => {
        this.#schedule();
        const debugged = counters.readDebugged();
        const pulse = counters.readPulse();
        if (pulse !== this.#driver.state.sample.pulse) this.#cpu.restart();
        const waitedMs = policy.thresholdMs === null ? null : this.#cpu.readWaitedMs();
        this.#driver.send({ type: "SAMPLE", atMs: clock.monotonicMs(), pulse, debugged, waitedMs });
      },
      { unref: true },
    );
  }

  #run(effect: StallEffect): void {
    switch (effect.do) {
      case "PAUSE":
        this.#stall = newStall();
        this.#counts.count += 1;
        return this.#emit({ do: "SET_ACCEPTING", accepting: false });
      case "RESUME":
        return this.#emit({ do: "SET_ACCEPTING", accepting: true });
      case "GIVE_UP":
        return this.#emit({ do: "GIVE_UP_LEASES" });
      case "RECLAIM":
        return this.#emit({ do: "RECLAIM_LEASES" });
      case "REPORT":
        return this.#captureStack(effect);
      case "ENDED":
        return this.#ended(effect);
      default:
        return unreachable(effect);
    }
  }

  #captureStack(effect: ReportEffect): void {
    const { policy, timers, capture, inspectorSessions, counters } = this.#deps;
    const stall = this.#stall;
    this.#counts.suppressed += effect.suppressed;
    // Its stack would show what it happened to be at, and it may have work to do again any moment.
    if (effect.cause === "no-cpu") return this.#report(stall, effect, NO_CPU);
    if (policy.noStack !== null) return this.#report(stall, effect, policy.noStack);
    // The last one still waits for main to come out of native code.
    if (stall.capture) return this.#report(stall, effect, NATIVE);
    const late = timers.set(CAPTURE_MS, () => this.#report(stall, effect, NATIVE));
    const over = (): void => {
      late.cancel();
      stall.capture = null;
    };
    inspectorSessions.begin();
    this.#unsettled += 1;
    counters.setInspecting(true);
    stall.capture = capture(timers, {
      onSnapshot: (snapshot) => {
        over();
        void this.#reportStack(stall, effect, snapshot);
      },
      onFailed: (why) => {
        over();
        this.#report(stall, effect, why);
        stall.conclude?.();
      },
      onDisconnected: () => this.#settle(counters.readPulse()),
    });
  }

  /**
   * Main deals with the end of a session before it runs any code that comes after it. Of two signs of life the second
   * was given after that.
   */
  #settle(pulse: number): void {
    const { counters, inspectorSessions, timers } = this.#deps;
    if (counters.readPulse() - pulse < 2) {
      timers.set(this.#pulseMs, () => this.#settle(pulse));
      return;
    }
    this.#unsettled -= 1;
    if (this.#unsettled === 0) counters.setInspecting(false);
    inspectorSessions.end();
  }

  async #reportStack(stall: Stall, effect: ReportEffect, { frames, execution }: MainSnapshot): Promise<void> {
    stall.making += 1;
    const stack = await this.#deps.maps.map(frames);
    stall.making -= 1;
    stall.report = this.#makeReport(stall, effect, { stack, execution }, null);
    this.#publish(stall);
    stall.conclude?.();
  }

  /** Without a stack. One that is known already says more. */
  #report(stall: Stall, effect: ReportEffect, problem: string): void {
    if (stall.report !== null && stall.report.stack.length > 0) {
      const { suppressed, stalledMs, waitedMs } = effect;
      const numbers = { stalledMs: Math.round(stalledMs), waitedMs: Math.round(waitedMs), suppressed };
      stall.report = { ...stall.report, ...numbers, sequence: this.#nextSequence() };
    } else {
      stall.report = this.#makeReport(stall, effect, null, problem);
    }
    this.#publish(stall);
  }

  #makeReport(stall: Stall, effect: ReportEffect, seen: ReportFacts["seen"], problem: string | null): StallReport {
    const { state } = this.#driver;
    const now =
      stall.conclude === null && state.phase === "stalled" ? state : { sample: { blockedMs: 0 }, gaveUp: false };
    return makeReport({
      sequence: this.#nextSequence(),
      atMs: this.#deps.clock.nowMs(),
      stalledMs: Math.max(effect.stalledMs, now.sample.blockedMs),
      cause: effect.cause,
      waitedMs: effect.waitedMs,
      suppressed: effect.suppressed,
      leasesGivenUp: now.gaveUp,
      running: this.#deps.inFlight.unfinished(),
      seen,
      problem,
      isOwnFile: this.#isOwnFile,
    });
  }

  #publish({ report, conclude }: Stall): void {
    if (report === null || conclude !== null) return;
    this.#counts.reports += 1;
    // A machine without a processor to spare is no emergency: the log says it afterwards.
    if (report.cause === "blocked") this.#deps.emergency.write(stallText(report));
    this.#emit({ do: "SEND_STALL_REPORT", report, stalledMs: report.stalledMs, ended: false });
    this.#emit({ do: "STALL_STATE_CHANGED" });
  }

  #ended(effect: Extract<StallEffect, { do: "ENDED" }>): void {
    const stall = this.#stall;
    this.#emit({ do: "MAIN_RESPONSIVE" });
    // An inspection that has not stopped main yet would now show code that has nothing to do with it.
    if (stall.capture && !stall.capture.stopped) {
      stall.capture.cancel();
      stall.capture = null;
    }
    let concluded = false;
    stall.conclude = () => {
      if (concluded || stall.capture || stall.making > 0) return;
      concluded = true;
      this.#conclude(stall, effect);
    };
    stall.conclude();
  }

  #conclude(stall: Stall, { stalledMs, waitedMs, reports, gaveUp }: Extract<StallEffect, { do: "ENDED" }>): void {
    const { clock } = this.#deps;
    if (reports > 0) {
      const effect = { do: "REPORT", stalledMs, waitedMs, cause: "blocked", suppressed: 0 } as const;
      const known = stall.report ?? this.#makeReport(stall, effect, null, NATIVE);
      const report = { ...known, waitedMs: Math.round(waitedMs) };
      stall.report = { ...report, sequence: this.#nextSequence(), leasesGivenUp: gaveUp };
      this.#emit({ do: "SEND_STALL_REPORT", report: stall.report, stalledMs: Math.round(stalledMs), ended: true });
      this.#log(report, stalledMs);
    }
    this.#last = { endedAtMs: clock.nowMs(), stalledMs: Math.round(stalledMs), report: stall.report };
    this.#emit({ do: "STALL_STATE_CHANGED" });
  }

  #log(report: StallReport, stalledMs: number): void {
    const { execution, culprit, stack, cause, waitedMs, suppressed } = report;
    const durations = { stalledMs: Math.round(stalledMs), waitedMs };
    if (cause === "no-cpu") {
      const others = suppressed > 0 ? ` The same happened ${suppressed} times before, since that was last logged.` : "";
      const data = { code: "NO_CPU_TIME" satisfies ErrorCode, ...durations, suppressed };
      return this.#deps.log("warn", `${stallHeadline(report, stalledMs)}${others}`, data, [...ON_STDERR, "suppressed"]);
    }
    const data = {
      code: "MAIN_BLOCKED" satisfies ErrorCode,
      ...durations,
      ...execution,
      ...(culprit ? { location: placeOf(culprit), stack: stack.map(frameText) } : {}),
    };
    this.#deps.log("warn", `${stallHeadline(report, stalledMs)} It is responsive again.`, data, ON_STDERR);
  }

  #nextSequence(): number {
    this.#sequence += 1;
    return this.#sequence;
  }
}

/** What the message or the report on stderr says already. */
const ON_STDERR = ["stalledMs", "waitedMs", "requestId", "runId", "functionSlug", "stepId", "location", "stack"];

const NO_CPU = "it was given no processor.";
const NATIVE = "it does not respond to its debugger, so it is in native code.";
