/**
 * When a blocked main thread is reported, and when its work is given up (`maxStall`, docs/decisions/0013). The
 * connection thread's `StallWatch` samples main and carries out the effects.
 */
import { type Next, unreachable } from "@holdfast/core";

export interface StallRules {
  /** Null = a stall is measured but nothing is done about it. */
  readonly thresholdMs: number | null;
  readonly maxStallMs: number | null;
  /** How often main gives its sign of life, and how often the other side samples it. */
  readonly pulseMs: number;
}

export const STALL_LIMITS = {
  /** Reports in any minute. */
  reportsPerMinute: 10,
  /** Longest distance of two reports of one stall. */
  maxReportGapMs: 60_000,
} as const;

const MINUTE_MS = 60_000;
/** A sample taken later than this many pulses says more about this thread than about main. */
const LATE_SAMPLES = 3;
/** A sample that comes after this many pulses is not late. */
const LATE_SAMPLE = 1.5;

/** Whose fault a stall is. `blocked`: code of main's. `no-cpu`: main would have run, had it been given a processor. */
export type StallCause = "blocked" | "no-cpu";

/** What was last seen of main. */
interface Sample {
  readonly pulse: number;
  readonly sampledAtMs: number;
  /** How long main has been seen to stall. */
  readonly blockedMs: number;
  /** How much of that it waited for a processor. */
  readonly waitedMs: number;
  /** The count that `waitedMs` follows; null: there is none. */
  readonly countMs: number | null;
}

interface ReportHistory {
  /** Instants of the last reports, oldest first. */
  readonly atMs: readonly number[];
  /** Of the last one that no code was to blame for. */
  readonly noCpuAtMs: number | null;
  /** Reports that were left out since the last one. */
  readonly suppressed: number;
}

export type StallState =
  | { readonly phase: "responsive"; readonly sample: Sample; readonly history: ReportHistory }
  | {
      readonly phase: "stalled";
      readonly sample: Sample;
      readonly history: ReportHistory;
      /** Reports of this stall. */
      readonly reports: number;
      readonly nextReportMs: number;
      /** Of the last report, whether it was suppressed or not. */
      readonly cause: StallCause | null;
      readonly gaveUp: boolean;
    };

export type StallEvent =
  /** Taken on every interval: main's sign of life. With `debugged` a debugger may be what stops main. */
  | {
      readonly type: "SAMPLE";
      readonly atMs: number;
      readonly pulse: number;
      readonly debugged: boolean;
      /** How long main has waited for a processor since it last moved; absent: that cannot be known. */
      readonly waitedMs?: number | null;
    }
  /** Main sent a message: it is responsive. */
  | { readonly type: "MESSAGE"; readonly atMs: number };

export type StallEffect =
  /** No new work for this worker. */
  | { readonly do: "PAUSE" }
  | { readonly do: "RESUME" }
  | {
      readonly do: "REPORT";
      readonly stalledMs: number;
      readonly suppressed: number;
      readonly cause: StallCause;
      readonly waitedMs: number;
    }
  /** So that other workers can take what is in flight. */
  | { readonly do: "GIVE_UP"; readonly stalledMs: number }
  | { readonly do: "RECLAIM" }
  | {
      readonly do: "ENDED";
      readonly stalledMs: number;
      readonly waitedMs: number;
      readonly reports: number;
      readonly gaveUp: boolean;
    };

/**
 * Whether the main thread stalls, and what is to be done about it.
 *
 * STALL-1. A stall begins when main was seen without a sign of life for the threshold and one pulse, so never for less than the threshold.
 * STALL-2. Time between observations does not count: a process that was stopped has not stalled.
 * STALL-3. PAUSE and RESUME take turns, GIVE_UP and RECLAIM too, the first of each before the second; ENDED comes once for each PAUSE.
 * STALL-4. Reports of one stall come at distances that double, up to a minute.
 * STALL-5. In no minute there are more than `reportsPerMinute` reports. Suppressed ones are counted, and the next
 *     report says how many.
 * STALL-6. GIVE_UP comes at most once in a stall, not before `maxStallMs`, and never without one.
 * STALL-8. Time that main waited for a processor is not held against its code: a stall that would have been shorter than the
 *     threshold without it is reported as `no-cpu`, at most once a minute. One that turns out to be code's is reported at once.
 * STALL-9. Where that time cannot be known, it is how late this thread was itself.
 * STALL-7. While a debugger may be what stops main, nothing is a stall.
 */
export function createStallStep(
  rules: StallRules,
): (state: StallState, event: StallEvent) => Next<StallState, StallEffect> {
  return (state, event) => {
    switch (event.type) {
      case "SAMPLE": {
        const { pulse, atMs, debugged, waitedMs: countMs = null } = event;
        return pulse !== state.sample.pulse || debugged
          ? onResponsive(rules, state, { pulse, atMs, countMs })
          : onStill(rules, state, atMs, countMs);
      }
      case "MESSAGE":
        return onResponsive(rules, state, { ...state.sample, atMs: event.atMs });
      default:
        return unreachable(event);
    }
  };
}

export function initialStall(pulse: number, atMs: number): StallState {
  return {
    phase: "responsive",
    sample: { pulse, sampledAtMs: atMs, blockedMs: 0, waitedMs: 0, countMs: null },
    history: { atMs: [], noCpuAtMs: null, suppressed: 0 },
  };
}

/** How long main has been seen to stall by now. */
function blockedAt({ pulseMs }: StallRules, { blockedMs, sampledAtMs }: Sample, atMs: number): number {
  return blockedMs + Math.max(0, Math.min(atMs - sampledAtMs, LATE_SAMPLES * pulseMs));
}

/** How much of that it waited for a processor. */
function waitedAt(
  { pulseMs }: StallRules,
  { waitedMs, countMs: before, blockedMs: wasMs }: Sample,
  blockedMs: number,
  countMs: number | null,
): number {
  const passedMs = blockedMs - wasMs;
  // A sample is due once a pulse: what it is late by, this thread waited for a processor itself.
  const moreMs = countMs === null ? passedMs - pulseMs * LATE_SAMPLE : countMs - (before ?? countMs);
  return waitedMs + Math.max(0, Math.min(moreMs, passedMs));
}

function onResponsive(
  rules: StallRules,
  state: StallState,
  { pulse, atMs, countMs }: { readonly pulse: number; readonly atMs: number; readonly countMs: number | null },
): Next<StallState, StallEffect> {
  const next: StallState = {
    phase: "responsive",
    sample: { pulse, sampledAtMs: atMs, blockedMs: 0, waitedMs: 0, countMs },
    history: state.history,
  };
  if (state.phase === "responsive") return [next, []];
  const { reports, gaveUp } = state;
  const stalledMs = blockedAt(rules, state.sample, atMs);
  const { waitedMs } = state.sample;
  const ended: StallEffect = { do: "ENDED", stalledMs, waitedMs, reports, gaveUp };
  return [next, [...(gaveUp ? ([{ do: "RECLAIM" }] as const) : []), { do: "RESUME" }, ended]];
}

function onStill(
  rules: StallRules,
  state: StallState,
  atMs: number,
  countMs: number | null,
): Next<StallState, StallEffect> {
  const { thresholdMs, maxStallMs, pulseMs } = rules;
  const blockedMs = blockedAt(rules, state.sample, atMs);
  const waitedMs = waitedAt(rules, state.sample, blockedMs, countMs);
  const sample: Sample = { ...state.sample, sampledAtMs: atMs, blockedMs, waitedMs, countMs };
  if (thresholdMs === null) return [{ phase: "responsive", sample, history: state.history }, []];
  if (state.phase === "responsive" && blockedMs < thresholdMs + pulseMs) return [{ ...state, sample }, []];

  const effects: StallEffect[] = [];
  let { reports, nextReportMs, gaveUp, cause } =
    state.phase === "stalled" ? state : { reports: 0, nextReportMs: 0, gaveUp: false, cause: null };
  const before = cause;
  cause = before === "blocked" || blockedMs - waitedMs >= thresholdMs ? "blocked" : "no-cpu";
  let { history } = state;
  if (state.phase === "responsive") effects.push({ do: "PAUSE" });
  if (maxStallMs !== null && !gaveUp && blockedMs >= maxStallMs) {
    gaveUp = true;
    effects.push({ do: "GIVE_UP", stalledMs: blockedMs });
  }
  if (blockedMs >= nextReportMs || (cause === "blocked" && before === "no-cpu")) {
    nextReportMs = blockedMs + Math.min(blockedMs, STALL_LIMITS.maxReportGapMs);
    const recent = history.atMs.filter((toldMs) => atMs - toldMs < MINUTE_MS);
    const isDue = cause === "blocked" || history.noCpuAtMs === null || atMs - history.noCpuAtMs >= MINUTE_MS;
    const { suppressed } = history;
    if (isDue && recent.length < STALL_LIMITS.reportsPerMinute) {
      effects.push({ do: "REPORT", stalledMs: blockedMs, suppressed, cause, waitedMs });
      const noCpuAtMs = cause === "no-cpu" ? atMs : history.noCpuAtMs;
      history = { atMs: [...recent, atMs], noCpuAtMs, suppressed: 0 };
      reports += 1;
    } else {
      history = { ...history, atMs: recent, suppressed: suppressed + 1 };
    }
  }
  return [{ phase: "stalled", sample, history, reports, nextReportMs, cause, gaveUp }, effects];
}
