/** What this gateway has stored of each function's runs since its start: ends, steps, failed attempts. For metrics. */
import { Histogram, type HistogramCounts, ulidTimeMs } from "@holdfast/core";
import type { RunState } from "@holdfast/engine";
import type { LogKind } from "@holdfast/store";
import { RecentRuns, type RecentSlot } from "./recent-runs.ts";

export type EndStatus = "COMPLETED" | "FAILED" | "CANCELLED";

export interface FunctionCount {
  readonly ended: Readonly<Record<EndStatus, number>>;
  /** From the creation of a run to its end, in seconds. */
  readonly seconds: HistogramCounts;
  readonly stepsCompleted: number;
  readonly stepsFailed: number;
  readonly stepAttemptsFailed: number;
  /** Attempts that failed outside of steps. */
  readonly passesFailed: number;
}

/** So that apps which register ever new functions do not make the metrics endless. */
const MOST_FUNCTIONS = 1000;
/** Whatever exceeds that. */
export const OTHER_FUNCTIONS = "(others)";

const RUN_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400];

type CountField = "stepsCompleted" | "stepsFailed" | "stepAttemptsFailed" | "passesFailed";

const ENDS: Readonly<Partial<Record<LogKind, EndStatus>>> = {
  RUN_COMPLETED: "COMPLETED",
  RUN_FAILED: "FAILED",
  RUN_CANCELLED: "CANCELLED",
};

const FIELDS: Readonly<Partial<Record<LogKind, CountField>>> = {
  STEP_COMPLETED: "stepsCompleted",
  STEP_FAILED: "stepsFailed",
  STEP_ATTEMPT_FAILED: "stepAttemptsFailed",
  PASS_FAILED: "passesFailed",
};

export class FunctionCounts {
  readonly #counts = new Map<string, Counting>();

  /** A fact that is in the log since `atMs`, and was not before. */
  stored({ functionId, runId }: Pick<RunState, "functionId" | "runId">, kind: LogKind, atMs: number): void {
    const status = ENDS[kind];
    const field = FIELDS[kind];
    if (field !== undefined) this.#of(functionId)[field] += 1;
    if (status === undefined) return;
    const count = this.#of(functionId);
    count.ended[status] += 1;
    const tookMs = Math.max(0, atMs - ulidTimeMs(runId));
    count.seconds.observe(tookMs / 1000);
    count.recent ??= new RecentRuns();
    count.recent.ended(atMs, tookMs, status === "FAILED");
  }

  /** The last hour of a function, as this gateway has decided it; null: it is one too many to be counted alone. */
  recent(functionId: string, nowMs: number): RecentSlot[] | null {
    if (!this.#counts.has(functionId) && this.#counts.size >= MOST_FUNCTIONS) return null;
    return (this.#counts.get(functionId)?.recent ?? new RecentRuns()).read(nowMs);
  }

  read(): ReadonlyMap<string, FunctionCount> {
    return new Map([...this.#counts].map(([id, count]) => [id, countOf(count)]));
  }

  #of(functionId: string): Counting {
    const id = this.#counts.has(functionId) || this.#counts.size < MOST_FUNCTIONS ? functionId : OTHER_FUNCTIONS;
    const known = this.#counts.get(id);
    if (known) return known;
    const count: Counting = {
      ended: { COMPLETED: 0, FAILED: 0, CANCELLED: 0 },
      seconds: new Histogram(RUN_SECONDS),
      stepsCompleted: 0,
      stepsFailed: 0,
      stepAttemptsFailed: 0,
      passesFailed: 0,
      recent: null,
    };
    this.#counts.set(id, count);
    return count;
  }
}

function countOf({ recent: _, seconds, ...count }: Counting): FunctionCount {
  return { ...count, seconds: seconds.read() };
}

interface Counting {
  readonly ended: Record<EndStatus, number>;
  readonly seconds: Histogram;
  stepsCompleted: number;
  stepsFailed: number;
  stepAttemptsFailed: number;
  passesFailed: number;
  /** Null until a run ends. */
  recent: RecentRuns | null;
}
