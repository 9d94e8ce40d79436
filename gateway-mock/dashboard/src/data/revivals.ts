/** What a run was before it went on: how it had ended, and which of its steps had failed then. From its log. Pure. */
import type { Fact, RunDetail, Step } from "./types.ts";
import { droppedBy, FAILURE_STEP } from "./undoing.ts";

export interface Revival {
  readonly atMs: number;
  /** How it had ended, and when. */
  readonly status: "FAILED" | "CANCELLED";
  readonly endedMs: number;
  readonly error: unknown;
  /** Only what could not be undone was tried again. */
  readonly isOfUndoing: boolean;
}

/** A failure that ended a step, until the run went on. */
export interface EarlierFailure {
  readonly atMs: number;
  /** Of its last attempt, as its worker measured it. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly error: unknown;
}

interface Past {
  readonly revivals: readonly Revival[];
  /** By step. */
  readonly failures: ReadonlyMap<string, readonly EarlierFailure[]>;
}

export function pastOf({ log = [] }: Pick<RunDetail, "log">): Past {
  const revivals: Revival[] = [];
  const failures = new Map<string, EarlierFailure[]>();
  const failed = new Map<string, Fact>();
  let end: Fact | null = null;
  let isUndoing = false;
  for (const fact of log) {
    const { kind, key } = fact;
    if (kind === "STEP_FAILED" && !failed.has(key)) failed.set(key, fact);
    else if (kind === "STEP_COMPLETED" && key === FAILURE_STEP) isUndoing = true;
    else if (kind === "RUN_FAILED" || kind === "RUN_CANCELLED") end = fact;
    else if (kind === "RUN_REVIVED") {
      const dropped = droppedBy(fact);
      for (const one of dropped) {
        const failure = failed.get(one);
        if (failure) failures.set(one, [...(failures.get(one) ?? []), failureOf(failure)]);
        failed.delete(one);
      }
      if (dropped.includes(FAILURE_STEP)) isUndoing = false;
      if (end) revivals.push({ atMs: fact.atMs, ...endOf(end), isOfUndoing: isUndoing });
    }
  }
  return { revivals, failures };
}

function endOf({ kind, atMs, data }: Fact): Pick<Revival, "status" | "endedMs" | "error"> {
  const { error = null } = (data ?? {}) as { readonly error?: unknown };
  return { status: kind === "RUN_FAILED" ? "FAILED" : "CANCELLED", endedMs: atMs, error };
}

function failureOf({ atMs, data }: Fact): EarlierFailure {
  const { step = {}, error = null } = (data ?? {}) as {
    readonly step?: { readonly startedMs?: number; readonly durationMs?: number };
    readonly error?: unknown;
  };
  const fromMs = step.startedMs ?? atMs;
  return { atMs, fromMs, toMs: step.durationMs === undefined ? atMs : fromMs + step.durationMs, error };
}

/** How many of its attempts failed, with the one that ended it; 0 of a step that failed at its only attempt. */
export function failedAttempts({ status, attempt, failedAttempts: earlier }: Step): number {
  if (status !== "failed" || earlier.length === 0) return earlier.length;
  return Math.max(attempt + 1, earlier.length);
}

/** The error in one line. */
export function errorLine(error: unknown): string {
  const { name, message } = (typeof error === "object" && error !== null ? error : {}) as {
    readonly name?: string;
    readonly message?: string;
  };
  if (message === undefined) return typeof error === "string" ? error : JSON.stringify(error ?? null);
  return name === undefined ? message : `${name}: ${message}`;
}
