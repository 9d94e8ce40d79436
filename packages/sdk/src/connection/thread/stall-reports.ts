/**
 * Makes the reports of a stall and says them where they are due: to stderr, the log and the gateway. `StallWatch` says
 * when, and what is known of main. One that has not the role of `shared/inspector-role.ts` writes neither to stderr nor to
 * the log: the thread that has it does, for all connections.
 */
import { type Clock, type ErrorCode, type IsOwnFile, isOwnFileBelow, type Log, type TimerHandle } from "@holdfast/core";
import type { StallEffect, StallState } from "../machines/stall-machine.ts";
import { makeReport, type ReportFacts } from "../machines/stall-report.ts";
import { frameText, stallHeadline, stallText } from "../machines/stall-text.ts";
import type { InspectorRole } from "../shared/inspector-role.ts";
import { placeOf, type RunningRequest, type StallPolicy, type StallReport } from "../shared/stall.ts";
import type { EmergencyChannel } from "./emergency.ts";
import type { MainCapture, MainSnapshot } from "./main-stack.ts";
import type { SourceMaps } from "./source-maps.ts";
import type { Emit, StallAction } from "./thread-effect.ts";

/** Why there is no stack. */
export const NO_CPU = "it was given no processor.";
export const NATIVE = "it does not respond to its debugger: it is in native code, or is given hardly any processor.";
export const ELSEWHERE = "another connection of this process inspects it.";
const OVER = "it was responsive again before its stack could be read.";

/** What the message or the report on stderr says already. */
const ON_STDERR = ["stalledMs", "waitedMs", "requestId", "runId", "functionSlug", "stepId", "location", "stack"];

/** One stall, from its first report to its end. */
export interface Stall {
  report: StallReport | null;
  /** This thread inspects main and writes about it; null: it was not reported yet. */
  hasRole: boolean | null;
  /** The last report may be written. */
  mayWrite: boolean;
  /** Ids of this connection's requests that the blocked code may belong to. */
  readonly own: Set<string>;
  /** What another thread has found is waited for. */
  findingTimer: TimerHandle | undefined;
  /** The capture under way; also kept when it is late. */
  capture: MainCapture | null;
  /** Reports that are being made. */
  making: number;
  /** It has ended: called when nothing is being made any more. */
  conclude: (() => void) | null;
}

export type ReportEffect = Extract<StallEffect, { do: "REPORT" }>;

export const newStall = (): Stall => ({
  report: null,
  hasRole: null,
  mayWrite: false,
  own: new Set(),
  findingTimer: undefined,
  capture: null,
  making: 0,
  conclude: null,
});

export interface StallReportsDeps {
  readonly policy: StallPolicy;
  /** Reports of earlier threads of this process have lower numbers. */
  readonly firstSequence: number;
  readonly role: InspectorRole;
  readonly emergency: EmergencyChannel;
  readonly maps: SourceMaps;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  readonly inFlight: { unfinished(): readonly RunningRequest[] };
  readonly state: () => StallState;
}

export class StallReports {
  readonly #deps: StallReportsDeps;
  readonly #emit: Emit<StallAction>;
  readonly #isOwnFile: IsOwnFile;
  #sequence: number;
  #reports = 0;

  constructor(deps: StallReportsDeps, emit: Emit<StallAction>) {
    this.#deps = deps;
    this.#emit = emit;
    this.#sequence = deps.firstSequence;
    this.#isOwnFile = isOwnFileBelow(deps.policy.ownFolder ?? null);
  }

  /** How many there were. */
  get reports(): number {
    return this.#reports;
  }

  /** The request of this connection that another thread has found to block main. */
  foundRequest({ hasRole }: Stall): RunningRequest | undefined {
    const { role, inFlight } = this.#deps;
    return hasRole ? undefined : inFlight.unfinished().find(({ requestId }) => role.isFound(requestId));
  }

  /** With what main was seen to do. */
  async publishStack(stall: Stall, effect: ReportEffect, { frames, execution }: MainSnapshot): Promise<void> {
    stall.making += 1;
    const stack = await this.#deps.maps.map(frames);
    stall.making -= 1;
    stall.report = this.#makeReport(stall, effect, { stack, execution }, null);
    this.#say(stall);
    stall.conclude?.();
  }

  /** Without a stack. One that is known already says more. */
  publish(stall: Stall, effect: ReportEffect, problem: string): void {
    if (stall.report !== null && stall.report.stack.length > 0) {
      const { suppressed, stalledMs, waitedMs } = effect;
      const numbers = { stalledMs: Math.round(stalledMs), waitedMs: Math.round(waitedMs), suppressed };
      stall.report = { ...stall.report, ...numbers, sequence: this.#nextSequence() };
    } else {
      stall.report = this.#makeReport(stall, effect, null, problem);
    }
    this.#say(stall);
  }

  /** Of a stall that ended before anything of it could be seen. */
  #unseen(stall: Stall, effect: ReportEffect): StallReport {
    const found = this.foundRequest(stall);
    const seen = found ? { stack: [], execution: found } : null;
    return this.#makeReport(stall, effect, seen, stall.hasRole || found ? OVER : ELSEWHERE);
  }

  #makeReport(stall: Stall, effect: ReportEffect, seen: ReportFacts["seen"], problem: string | null): StallReport {
    const state = this.#deps.state();
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
      mayGuess: problem !== ELSEWHERE,
      seen,
      problem,
      isOwnFile: this.#isOwnFile,
    });
  }

  #say(stall: Stall): void {
    const { report, conclude, mayWrite } = stall;
    if (report === null || conclude !== null) return;
    this.#reports += 1;
    // A machine without a processor to spare is no emergency: the log says it afterwards.
    if (report.cause === "blocked" && mayWrite) this.#write(report);
    this.#send(stall, report, false);
    this.#emit({ do: "STALL_STATE_CHANGED" });
  }

  #write(report: StallReport): void {
    const { emergency, role, policy } = this.#deps;
    // What holds of all reports is written once.
    const isKnown = report.problem !== null && report.problem === policy.noStack && !role.takeNoStack();
    const problem = isKnown ? null : report.problem;
    emergency.write(stallText({ ...report, problem, suppressed: report.suppressed + role.takeLeftOut() }));
  }

  /** A request of another connection is reported by that one: this one's gateway may know nothing of it. */
  #send(stall: Stall, report: StallReport, ended: boolean): void {
    const { execution } = report;
    const isOwn = execution !== null && this.#isOwn(stall, execution.requestId);
    const told = isOwn ? report : { ...report, execution: null };
    this.#emit({ do: "SEND_STALL_REPORT", report, told, ended });
  }

  #isOwn({ own }: Stall, id: string): boolean {
    return own.has(id) || this.#deps.inFlight.unfinished().some(({ requestId }) => requestId === id);
  }

  /** It has ended, and nothing of it is being made any more. */
  conclude(stall: Stall, { stalledMs, waitedMs, reports, gaveUp }: Extract<StallEffect, { do: "ENDED" }>): void {
    if (reports === 0) return;
    const effect = { do: "REPORT", stalledMs, waitedMs, cause: "blocked", suppressed: 0 } as const;
    const known = stall.report ?? this.#unseen(stall, effect);
    const report = { ...known, waitedMs: Math.round(waitedMs) };
    stall.report = { ...report, sequence: this.#nextSequence(), leasesGivenUp: gaveUp };
    this.#send(stall, { ...stall.report, stalledMs: Math.round(stalledMs) }, true);
    if (stall.hasRole && (stall.mayWrite || report.cause === "blocked")) this.#log(report, stalledMs);
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
