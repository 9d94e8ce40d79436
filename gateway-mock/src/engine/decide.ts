import { type PlainError, unreachable } from "@holdfast/core";
import type { Op } from "@holdfast/protocol";
import { decideOps, decideParked } from "./decide-ops.ts";
import {
  type DecideContext,
  type Decision,
  type Draft,
  dispatch,
  draftOf,
  dropJob,
  ensurePass,
  fail,
  failWith,
  finish,
  retryDelayMs,
  settle,
} from "./draft.ts";
import { completedRow, jsonRow, stepCompletedRow } from "./log-rows.ts";
import { isEnded, type JobState, jobKey, type RunState } from "./run-state.ts";

/** What a reply says, read and checked. */
export type Report =
  | { readonly status: "DONE"; readonly outputText: string }
  | { readonly status: "FAILED"; readonly error: PlainError }
  | { readonly status: "ERROR"; readonly error: PlainError; readonly retryAfterMs?: number | undefined }
  | {
      readonly status: "OPS";
      readonly ops: readonly Op[];
      readonly requestVersion: number;
      /** The one failed op of the report is not to be tried again. */
      readonly noRetry: boolean;
      readonly retryAfterMs?: number | undefined;
    }
  /** It could not be understood, or is over a limit. */
  | { readonly status: "INVALID"; readonly error: PlainError };

export type Input =
  | {
      readonly type: "report";
      readonly jobId: string;
      /** The agent keeps the pass going over checkpoints, and reports everything that is parked. */
      readonly inPlace: boolean;
      readonly report: Report;
    }
  /** Waits that began while their pass goes on in place. */
  | { readonly type: "parked"; readonly ops: readonly Op[] }
  | { readonly type: "timer"; readonly jobId: string }
  | { readonly type: "cancel"; readonly reason: string }
  /** The run cannot go on, for a reason of the gateway's own. */
  | { readonly type: "fail"; readonly error: PlainError };

/**
 * What a fact means for a run. Pure: reads `state`, changes nothing; null = nothing to do (the run is over, or the job
 * that the input speaks of is settled). Invariants, for the state that results:
 *
 *  1. A run that has not ended has at least one job.
 *  2. It has at most one pass job.
 *  3. A finished step has no job, and its first result stays.
 *  4. The same input again decides nothing.
 *  5. After the end nothing changes, and no job is left.
 *  6. A pass job that may be running is never removed but by its own report or the run's end.
 */
export function decide(state: RunState, input: Input, ctx: DecideContext): Decision | null {
  if (isEnded(state.status)) return null;
  const draft = draftOf(state, ctx);
  switch (input.type) {
    case "report": {
      const job = jobById(state, input.jobId);
      if (!job || job.kind === "timer") return null;
      decideReport(draft, job, input.report, input.inPlace);
      return finish(draft);
    }
    case "parked":
      for (const op of input.ops) decideParked(draft, op);
      return draft.log.length > 0 ? finish(draft) : null;
    case "timer": {
      const job = jobById(state, input.jobId);
      if (job?.kind !== "timer") return null;
      decideTimer(draft, job);
      return finish(draft);
    }
    case "cancel": {
      const error = { name: "HoldfastError", code: "RUN_CANCELLED", message: input.reason };
      draft.log.push(jsonRow("RUN_CANCELLED", "", 0, 0, { error }));
      draft.head = { status: "CANCELLED", errorJson: JSON.stringify(error) };
      return finish(draft);
    }
    case "fail":
      fail(draft, input.error);
      return finish(draft);
    default:
      return unreachable(input);
  }
}

function jobById(state: RunState, jobId: string): JobState | undefined {
  for (const job of state.jobs.values()) if (job.id === jobId) return job;
  return undefined;
}

function decideReport(draft: Draft, job: JobState, report: Report, inPlace: boolean): void {
  dropJob(draft, jobKey(job.kind, job.key));
  draft.reported = job;
  switch (report.status) {
    case "DONE":
      draft.log.push(completedRow(report.outputText));
      draft.head = { status: "COMPLETED", outputJson: report.outputText };
      return;
    case "FAILED":
    case "INVALID":
      return fail(draft, report.error);
    case "ERROR":
      return decideError(draft, job, report);
    case "OPS":
      return decideOps(draft, job, report, inPlace);
    default:
      return unreachable(report);
  }
}

/** The handler threw outside steps: the same job again, while attempts are left. */
function decideError(draft: Draft, job: JobState, report: Extract<Report, { status: "ERROR" }>): void {
  const { state } = draft;
  const attempt = job.kind === "pass" ? state.passAttempt : job.attempt;
  if (attempt + 1 >= state.maxAttempts) return fail(draft, report.error);
  const delayMs = retryDelayMs(draft, attempt, report.retryAfterMs);
  draft.log.push(jsonRow("PASS_FAILED", job.key, attempt, job.iteration, { error: report.error, delayMs }));
  if (job.kind === "pass") ensurePass(draft, delayMs, attempt + 1);
  else dispatch(draft, { kind: job.kind, key: job.key, attempt: attempt + 1, delayMs });
}

function decideTimer(draft: Draft, job: JobState): void {
  if (draft.state.memo.size >= draft.ctx.maxSteps) {
    return failWith(draft, "RUN_TOO_LARGE", `The run has more than ${draft.ctx.maxSteps} steps.`);
  }
  const wanted = settle(draft, job.key, stepCompletedRow(job.key, { op: "Sleep" }, "null"));
  dropJob(draft, jobKey("timer", job.key));
  if (wanted) ensurePass(draft);
}
