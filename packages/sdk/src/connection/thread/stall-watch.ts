/**
 * The connection thread's watch over main: samples its sign of life, has its stack read, and reports who blocks it: to
 * stderr, the log, the debug state and the gateway. When to do which is decided in `machines/stall-machine.ts`. Of
 * several threads that watch one main, the one with the role of `shared/inspector-role.ts` has the stack read and writes
 * to stderr and the log; another one has it read only when that one has found a request of its own.
 */
import { type Clock, createDriver, type Driver, type TimerHandle, type Timers, unreachable } from "@holdfast/core";
import {
  createStallStep,
  initialStall,
  type StallEffect,
  type StallEvent,
  type StallState,
} from "../machines/stall-machine.ts";
import { readExecution } from "../machines/stall-report.ts";
import { pulseMsFor, type SharedCounters } from "../shared/shared-counters.ts";
import type { StallDebugState } from "../shared/stall.ts";
import type { MainCpu } from "./main-cpu.ts";
import { CAPTURE_MS, MainInspector, type MainInspectorDeps } from "./main-inspector.ts";
import {
  ELSEWHERE,
  NATIVE,
  NO_CPU,
  newStall,
  type ReportEffect,
  type Stall,
  StallReports,
  type StallReportsDeps,
} from "./stall-reports.ts";
import type { Emit, StallAction } from "./thread-effect.ts";

/** How often what the thread with the role has found is looked for. */
const FINDING_POLL_MS = 20;

/** How to inspect main, and where to report it. */
export interface StallPorts
  extends Pick<MainInspectorDeps, "capture" | "inspectorSessions">,
    Pick<StallReportsDeps, "emergency" | "maps"> {
  /** What is known of the processor time of a thread. */
  readonly mainCpu: (task: string | undefined) => MainCpu;
}

export interface StallWatchDeps extends StallPorts, Omit<StallReportsDeps, "state"> {
  readonly counters: SharedCounters;
  readonly clock: Clock;
  readonly timers: Timers;
}

export class StallWatch {
  readonly #deps: StallWatchDeps;
  readonly #emit: Emit<StallAction>;
  readonly #pulseMs: number;
  readonly #cpu: MainCpu;
  readonly #inspector: MainInspector;
  readonly #reports: StallReports;
  readonly #driver: Driver<StallState, StallEvent>;
  #timer: TimerHandle | undefined;
  #stall = newStall();
  #last: StallDebugState["last"] = null;
  #counts = { count: 0, suppressed: 0 };

  constructor(deps: StallWatchDeps, emit: Emit<StallAction>) {
    const { policy, counters, clock } = deps;
    this.#deps = deps;
    this.#emit = emit;
    this.#pulseMs = pulseMsFor(policy.thresholdMs);
    this.#cpu = deps.mainCpu(policy.mainTask);
    this.#inspector = new MainInspector({ ...deps, cpu: this.#cpu, pulseMs: this.#pulseMs });
    this.#driver = createDriver<StallState, StallEvent, StallEffect>({
      initial: initialStall(counters.readPulse(), clock.monotonicMs()),
      step: createStallStep({ ...policy, pulseMs: this.#pulseMs }),
      run: (effect) => this.#run(effect),
      nowMs: () => clock.nowMs(),
      traceSize: 1,
    });
    this.#reports = new StallReports({ ...deps, state: () => this.#driver.state }, emit);
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
    const { count, suppressed } = this.#counts;
    const { reports } = this.#reports;
    return { detection, count, reports, suppressed: suppressed + state.history.suppressed, current, last: this.#last };
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stall.findingTimer?.cancel();
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
        return this.#onReport(effect);
      case "ENDED":
        return this.#ended(effect);
      default:
        return unreachable(effect);
    }
  }

  #onReport(effect: ReportEffect): void {
    const { policy, role, inFlight } = this.#deps;
    const stall = this.#stall;
    const { cause } = effect;
    this.#counts.suppressed += effect.suppressed;
    for (const { requestId } of inFlight.unfinished()) stall.own.add(requestId);
    stall.hasRole ??= role.take();
    stall.mayWrite = stall.hasRole && role.mayWrite(cause, this.#driver.state.sample.sampledAtMs);
    // Its stack would show what it happened to be at, and it may have work to do again any moment.
    if (cause === "no-cpu") return this.#reports.publish(stall, effect, NO_CPU);
    if (policy.noStack !== null) return this.#reports.publish(stall, effect, policy.noStack);
    // The last one still waits for main to come out of native code.
    if (stall.capture) return this.#reports.publish(stall, effect, NATIVE);
    if (stall.hasRole) return this.#inspect(stall, effect);
    if (inFlight.unfinished().length === 0) return this.#reports.publish(stall, effect, ELSEWHERE);
    this.#awaitFinding(stall, effect);
  }

  #inspect(stall: Stall, effect: ReportEffect): void {
    const { role } = this.#deps;
    // Between the threads, what was found before would be taken for what is found now.
    if (stall.hasRole) role.setFinding("none");
    stall.capture = this.#inspector.inspect({
      onLate: () => {
        if (stall.hasRole && stall.conclude === null) role.setFinding("no-answer");
        this.#reports.publish(stall, effect, NATIVE);
      },
      onSnapshot: (snapshot) => {
        stall.capture = null;
        const execution = readExecution(snapshot.execution);
        if (stall.hasRole) role.setFinding(execution ?? "no-request");
        void this.#reports.publishStack(stall, effect, snapshot);
      },
      onFailed: (why) => {
        stall.capture = null;
        if (stall.hasRole && stall.conclude === null) role.setFinding("no-answer");
        this.#reports.publish(stall, effect, why);
        stall.conclude?.();
      },
    });
  }

  /** Another thread inspects main; should it find that a request of this one blocks it, this one looks at it as well. */
  #awaitFinding(stall: Stall, effect: ReportEffect): void {
    const { role, clock, timers } = this.#deps;
    const untilMs = clock.monotonicMs() + CAPTURE_MS;
    let isReported = false;
    const report = (problem: string): void => {
      if (!isReported) this.#reports.publish(stall, effect, problem);
      isReported = true;
    };
    const poll = (): void => {
      if (stall.conclude !== null) return;
      const finding = role.readFinding();
      if (finding === "request" && this.#reports.foundRequest(stall)) return this.#inspect(stall, effect);
      if (finding === "no-answer") report(NATIVE);
      if (finding === "request" || finding === "no-request") return report(ELSEWHERE);
      if (clock.monotonicMs() >= untilMs) report(ELSEWHERE);
      stall.findingTimer = timers.set(FINDING_POLL_MS, poll, { unref: true });
    };
    stall.findingTimer?.cancel();
    poll();
  }

  #ended(effect: Extract<StallEffect, { do: "ENDED" }>): void {
    const stall = this.#stall;
    this.#emit({ do: "MAIN_RESPONSIVE" });
    stall.findingTimer?.cancel();
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

  #conclude(stall: Stall, effect: Extract<StallEffect, { do: "ENDED" }>): void {
    this.#reports.conclude(stall, effect);
    // The next stall may have begun, and be reported, while this one's stack was being read.
    if (stall.hasRole && (this.#stall === stall || !this.#stall.hasRole)) this.#deps.role.leave();
    this.#last = {
      endedAtMs: this.#deps.clock.nowMs(),
      stalledMs: Math.round(effect.stalledMs),
      report: stall.report,
    };
    this.#emit({ do: "STALL_STATE_CHANGED" });
  }
}
