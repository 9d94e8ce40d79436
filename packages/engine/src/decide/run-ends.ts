/** The ends of a run: completed, failed (its steps undone first), cancelled, and the retry of a failed pass. */
import { type ErrorCode, isNonDeterminism, type PlainError, plainError } from "@holdfast/core";
import type { LogRow } from "@holdfast/store";

import { completedRow, continuedRow, jsonRow, readStepRow, stepCompletedRow } from "../run/log-rows.ts";
import { isRunTimer, type JobState } from "../run/run-state.ts";
import { cancelledError, FAILURE_KEY, isCompensating, stoppedError } from "../run/saga.ts";
import { deferredEvents } from "./deferred-events.ts";
import { type Draft, dispatch, dropJob, dropWait, ensurePass, isSettled, retryDelayMs } from "./draft.ts";
import { continuedEvent, endEvents, type RunEnd } from "./internal-events.ts";

export function complete(draft: Draft, outputText: string): void {
  draft.log.push(completedRow(outputText));
  draft.head = { status: "COMPLETED", outputJson: outputText };
  addEndEvents(draft, { status: "COMPLETED", outputText });
}

/**
 * The run goes on as a new one of its function, made in the same transaction. Nothing that waits for its end is notified:
 * the new one's end is meant. What it has deferred begins.
 */
export function continueAs(draft: Draft, data: unknown): void {
  const { state, ctx, defers } = draft;
  const runId = ctx.newId();
  draft.log.push(continuedRow(runId));
  draft.head = { status: "COMPLETED", outputJson: "null" };
  draft.events.push(continuedEvent(ctx, state, runId, data), ...deferredEvents(state, defers, ctx));
}

/**
 * The run cannot go on. While it has finished steps that are to be undone it is not failed yet: why is put on record, all
 * its jobs are removed, and a pass is created that undoes them.
 */
export function fail(draft: Draft, error: PlainError): void {
  const { state } = draft;
  if (isSettled(draft, FAILURE_KEY)) return end(draft, "compensation" in error ? error : stoppedError(state, error));
  if (isNonDeterminism(error) || (state.undoable.length === 0 && !draft.log.some(isUndoable))) return end(draft, error);
  for (const [name, job] of draft.jobs) if (!isRunTimer(job.key)) dropJob(draft, name);
  for (const key of [...draft.waits]) if (draft.opened.has(key) || state.open.has(key)) dropWait(draft, key);
  draft.opened.clear();
  draft.pending.clear();
  draft.forced = false;
  const meta = { op: "StepRun", name: "holdfast/failure", clears: true } as const;
  draft.log.push(stepCompletedRow(FAILURE_KEY, meta, JSON.stringify({ error })));
  draft.settled.add(FAILURE_KEY);
  draft.undoing = true;
  ensurePass(draft);
}

function end(draft: Draft, error: PlainError): void {
  draft.log.push(jsonRow("RUN_FAILED", "", 0, 0, { error }));
  draft.head = { status: "FAILED", errorJson: JSON.stringify(error) };
  addEndEvents(draft, { status: "FAILED", error });
}

/** A step that was finished in this very report. */
function isUndoable(row: LogRow): boolean {
  return row.kind === "STEP_COMPLETED" && readStepRow(row.kind, row.dataJson).meta.undo !== undefined;
}

export function cancel(draft: Draft, reason: PlainError): void {
  const error = isCompensating(draft.state) ? cancelledError(draft.state, reason) : reason;
  draft.log.push(jsonRow("RUN_CANCELLED", "", 0, 0, { error }));
  draft.head = { status: "CANCELLED", errorJson: JSON.stringify(error) };
  addEndEvents(draft, { status: "CANCELLED", error });
}

/** The end of a run is an event, and begins what it has deferred. */
function addEndEvents(draft: Draft, end: RunEnd): void {
  const { state, ctx, defers } = draft;
  draft.events = draft.events.concat(endEvents(state, ctx, end), deferredEvents(state, defers, ctx));
}

export function failWith(draft: Draft, code: ErrorCode, message: string): void {
  fail(draft, plainError(code, message));
}

/** The handler threw outside steps: the same job again, while attempts are left. */
export function failPass(draft: Draft, job: JobState, error: PlainError, retryAfterMs: number | undefined): void {
  const { state } = draft;
  const attempt = job.kind === "pass" ? state.passAttempt : job.attempt;
  if (attempt + 1 >= state.maxAttempts) return fail(draft, error);
  const delayMs = retryDelayMs(draft, attempt, retryAfterMs);
  draft.log.push(jsonRow("PASS_FAILED", job.key, attempt, job.iteration, { error, delayMs }));
  if (job.kind === "pass") ensurePass(draft, delayMs, attempt + 1);
  else dispatch(draft, { kind: job.kind, key: job.key, attempt: attempt + 1, delayMs });
}
