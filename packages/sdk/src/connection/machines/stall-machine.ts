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
/** A look that comes later than this many pulses says more about us than about main. */
const LATE_LOOKS = 3;

/** What was last seen of main. */
interface Sight {
  readonly pulse: number;
  readonly lookedAtMs: number;
  /** How long main has been seen to stall. */
  readonly stillMs: number;
}

interface Told {
  /** Instants of the last reports, oldest first. */
  readonly atMs: readonly number[];
  /** Reports that were left out since the last one. */
  readonly suppressed: number;
}

export type StallState =
  | { readonly phase: "moving"; readonly sight: Sight; readonly told: Told }
  | {
      readonly phase: "stalled";
      readonly sight: Sight;
      readonly told: Told;
      /** Reports of this stall. */
      readonly reports: number;
      readonly nextReportMs: number;
      readonly gaveUp: boolean;
    };

export type StallEvent =
  /** The interval's look at main's sign of life. With `debugged` a debugger may be what stops main. */
  | { readonly type: "LOOK"; readonly atMs: number; readonly pulse: number; readonly debugged: boolean }
  /** Main said something: it moves. */
  | { readonly type: "HEARD"; readonly atMs: number };

export type StallEffect =
  /** No new work for this worker. */
  | { readonly do: "PAUSE" }
  | { readonly do: "RESUME" }
  | { readonly do: "REPORT"; readonly stalledMs: number; readonly suppressed: number }
  /** So that other workers can take what is in flight. */
  | { readonly do: "GIVE_UP"; readonly stalledMs: number }
  | { readonly do: "TAKE_UP" }
  | { readonly do: "ENDED"; readonly stalledMs: number; readonly reports: number; readonly gaveUp: boolean };

/**
 * Whether the main thread stalls, and what is to be done about it.
 *
 * STALL-1. A stall begins when main was seen without a sign of life for the threshold and one pulse, so never for less than the threshold.
 * STALL-2. Time in which no one looked does not count: a process that was stopped has not stalled.
 * STALL-3. PAUSE and RESUME take turns, GIVE_UP and TAKE_UP too, the first of each before the second; ENDED comes once for each PAUSE.
 * STALL-4. Reports of one stall come at distances that double, up to a minute.
 * STALL-5. In no minute there are more than `reportsPerMinute` reports. Each that is left out is counted, and the next one tells how many.
 * STALL-6. GIVE_UP comes at most once in a stall, not before `maxStallMs`, and never without one.
 * STALL-7. While a debugger may be what stops main, nothing is a stall.
 */
export function createStallStep(
  rules: StallRules,
): (state: StallState, event: StallEvent) => Next<StallState, StallEffect> {
  return (state, event) => {
    switch (event.type) {
      case "LOOK": {
        const { pulse, atMs, debugged } = event;
        return pulse !== state.sight.pulse || debugged ? moved(rules, state, pulse, atMs) : still(rules, state, atMs);
      }
      case "HEARD":
        return moved(rules, state, state.sight.pulse, event.atMs);
      default:
        return unreachable(event);
    }
  };
}

export function initialStall(pulse: number, atMs: number): StallState {
  return { phase: "moving", sight: { pulse, lookedAtMs: atMs, stillMs: 0 }, told: { atMs: [], suppressed: 0 } };
}

/** How long main has been seen to stall by now. */
function stillAt({ pulseMs }: StallRules, { stillMs, lookedAtMs }: Sight, atMs: number): number {
  return stillMs + Math.max(0, Math.min(atMs - lookedAtMs, LATE_LOOKS * pulseMs));
}

function moved(rules: StallRules, state: StallState, pulse: number, atMs: number): Next<StallState, StallEffect> {
  const next: StallState = { phase: "moving", sight: { pulse, lookedAtMs: atMs, stillMs: 0 }, told: state.told };
  if (state.phase === "moving") return [next, []];
  const { reports, gaveUp } = state;
  const ended: StallEffect = { do: "ENDED", stalledMs: stillAt(rules, state.sight, atMs), reports, gaveUp };
  return [next, [...(gaveUp ? ([{ do: "TAKE_UP" }] as const) : []), { do: "RESUME" }, ended]];
}

function still(rules: StallRules, state: StallState, atMs: number): Next<StallState, StallEffect> {
  const { thresholdMs, maxStallMs, pulseMs } = rules;
  const stillMs = stillAt(rules, state.sight, atMs);
  const sight: Sight = { ...state.sight, lookedAtMs: atMs, stillMs };
  if (thresholdMs === null) return [{ phase: "moving", sight, told: state.told }, []];
  if (state.phase === "moving" && stillMs < thresholdMs + pulseMs) return [{ ...state, sight }, []];

  const effects: StallEffect[] = [];
  let { reports, nextReportMs, gaveUp } =
    state.phase === "stalled" ? state : { reports: 0, nextReportMs: 0, gaveUp: false };
  let { told } = state;
  if (state.phase === "moving") effects.push({ do: "PAUSE" });
  if (maxStallMs !== null && !gaveUp && stillMs >= maxStallMs) {
    gaveUp = true;
    effects.push({ do: "GIVE_UP", stalledMs: stillMs });
  }
  if (stillMs >= nextReportMs) {
    nextReportMs = stillMs + Math.min(stillMs, STALL_LIMITS.maxReportGapMs);
    const recent = told.atMs.filter((toldMs) => atMs - toldMs < MINUTE_MS);
    if (recent.length < STALL_LIMITS.reportsPerMinute) {
      effects.push({ do: "REPORT", stalledMs: stillMs, suppressed: told.suppressed });
      told = { atMs: [...recent, atMs], suppressed: 0 };
      reports += 1;
    } else {
      told = { atMs: recent, suppressed: told.suppressed + 1 };
    }
  }
  return [{ phase: "stalled", sight, told, reports, nextReportMs, gaveUp }, effects];
}
