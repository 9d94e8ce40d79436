/**
 * The heart of the engine: what an input (a reply, a timer, an arrival) makes of a run, as rows and jobs to be
 * committed. Pure; the dispatcher's `RunUpdater` commits it, and `fold` makes the state of the rows again.
 */
import { type PlainError, plainError, unreachable } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { parseRetryAfterMs } from "../parse-due.ts";
import { jsonRow, type RevivalMeta, type StepMeta, stepCompletedRow, stepFailedRow } from "../run/log-rows.ts";
import {
  DEADLINE,
  FINISH_TIMEOUT,
  isEnded,
  type JobState,
  jobKey,
  needsWorker,
  type RunState,
} from "../run/run-state.ts";
import { compensationKey, failedCompensations, isCompensating, isUndoingIncomplete } from "../run/saga.ts";
import { isLazy, isParkedName, nameOf } from "../run/step-ops.ts";
import { decideDefer } from "./defers.ts";
import {
  type Decision,
  type Draft,
  dispatch,
  draftOf,
  dropJob,
  ensurePass,
  finish,
  isClosed,
  isSettled,
  retryDelayMs,
  settle,
  sizeProblem,
} from "./draft.ts";
import type { DecideContext, FetchResult, Input, PassReport, StepResult } from "./input.ts";
import { decideOps } from "./ops.ts";
import { pin } from "./pin.ts";
import { resume } from "./resume.ts";
import { cancel, complete, fail, failPass, failWith } from "./run-ends.ts";
import { park } from "./waits.ts";

/**
 * What a fact means for a run. Pure: reads `state`, changes nothing; null = nothing to do (the run is over, or the job
 * that the input speaks of is settled). Invariants, for the state that results:
 *
 * DECIDE-1. A run that has not ended has at least one job.
 * DECIDE-2. It has at most one pass job.
 * DECIDE-3. A finished step has no job, and its first result stays.
 * DECIDE-4. The same input again decides nothing.
 * DECIDE-5. After the end nothing changes, and no job is left.
 *     (Except the job that notifies the invoking step of its end, which no longer belongs to the run.)
 * DECIDE-6. A pass job that may be running is never removed but by its own report or the run's end.
 * DECIDE-7. What a run waits for from outside ends a step once: what has come, or its timeout, whichever is decided on
 *     first.
 * DECIDE-8. A finished step waits for nothing, and an ended run neither.
 * DECIDE-9. No two waits of a decision are for one signal: the first step keeps it, or the last one that replaces has
 *     it.
 */
export function decide(state: RunState, input: Input, ctx: DecideContext): Decision | null {
  if (input.type === "revive") return revive(state, ctx);
  if (input.type === "resume") return resume(state, input, ctx);
  if (isEnded(state.status)) return null;
  const draft = draftOf(state, ctx);
  switch (input.type) {
    case "report": {
      const job = jobById(state, input.jobId);
      if (!job || !needsWorker(job)) return null;
      decideReport(draft, job, input.report, input.inPlace);
      return finish(draft);
    }
    case "parked":
      // No step but those that undo begins any more.
      if (isCompensating(state)) return null;
      for (const op of input.ops) {
        if (isLazy(op)) decideDefer(draft, op);
        else if (!isParkedName(op.op))
          failWith(draft, "OP_INVALID", `Op ${op.op} of step "${nameOf(op) ?? op.id}" is not a wait.`);
        else if (park(draft, op, op.op)) ensurePass(draft);
        if (isClosed(draft)) break;
      }
      return draft.log.length > 0 ? finish(draft) : null;
    case "timer":
    case "arrived":
      return take(draft, input) ? finish(draft) : null;
    case "fetched": {
      const job = jobById(state, input.jobId);
      if (job?.kind !== "fetch") return null;
      decideFetched(draft, job, input.result);
      return finish(draft);
    }
    case "cancel":
      if (input.waitKey !== undefined && !state.waits.includes(input.waitKey)) return null;
      // A run that is already undoing its steps continues to the end, unless a user cancels it.
      if (input.waitKey !== undefined && isCompensating(state)) return null;
      cancel(draft, plainError("RUN_CANCELLED", input.reason));
      return finish(draft);
    case "pin":
      if (!jobById(state, input.jobId) || state.appVersion === input.version) return null;
      return pin(draft, input);
    case "fail":
      if (!jobById(state, input.jobId)) return null;
      fail(draft, input.error);
      return finish(draft);
    default:
      return unreachable(input);
  }
}

/** What ends a step that waits: its time is over, or what it waits for has come. */
export type StepEnd = Extract<Input, { readonly type: "timer" | "arrived" }>;

export interface JoinedDecision {
  readonly decision: Decision;
  /**
   * In the order of the ends: whether it changes anything, coming after those before it. Shorter than they are where one
   * of them ends the run or makes it undo its steps: what comes after that is to be decided on afterwards.
   */
  readonly counted: readonly boolean[];
}

/** As `decide` for each of them, one after the other, in one decision. Null: none of them means anything. */
export function decideTogether(state: RunState, ends: readonly StepEnd[], ctx: DecideContext): JoinedDecision | null {
  if (isEnded(state.status)) return null;
  const draft = draftOf(state, ctx);
  const counted: boolean[] = [];
  for (const end of ends) {
    if (isClosed(draft)) break;
    counted.push(take(draft, end));
  }
  return counted.includes(true) ? { decision: finish(draft), counted } : null;
}

/** False: it means nothing (any more). */
function take(draft: Draft, end: StepEnd): boolean {
  if (end.type === "timer") {
    const job = jobById(draft, end.jobId);
    if (job?.kind !== "timer") return false;
    decideTimer(draft, job, end.startedMs ?? null);
    return true;
  }
  if (!draft.waits.has(end.key) || isSettled(draft, end.key)) return false;
  endStep(draft, end.key, end.result);
  return true;
}

/** A run whose compensations failed, or were not all run, is live again; only those are made again. */
function revive(state: RunState, ctx: DecideContext): Decision | null {
  if (state.status !== "FAILED" || !isCompensating(state) || !isUndoingIncomplete(state)) return null;
  const draft = draftOf(state, ctx);
  const meta: RevivalMeta = { dropped: failedCompensations(state) };
  draft.log.push(jsonRow("RUN_REVIVED", "", 0, state.revivals + 1, meta));
  ensurePass(draft);
  return { ...finish(draft), revives: true };
}

function jobById(state: Pick<RunState, "jobs">, jobId: string): JobState | undefined {
  for (const job of state.jobs.values()) if (job.id === jobId) return job;
  return undefined;
}

function decideReport(draft: Draft, job: JobState, report: PassReport, inPlace: boolean): void {
  dropJob(draft, jobKey(job.kind, job.key));
  draft.reported = job;
  switch (report.status) {
    case "DONE":
      return complete(draft, report.outputText);
    case "FAILED":
    case "INVALID":
      return fail(draft, report.error);
    case "ERROR":
      if (isLeftOver(draft.state, job)) return endLeftOver(draft, job, report.error);
      return failPass(draft, job, report.error, report.retryAfterMs);
    case "OPS":
      return decideOps(draft, job, report, inPlace);
    default:
      return unreachable(report);
  }
}

/** The last attempt of a step that lost a race before the run began to undo its steps, which waits for it. */
function isLeftOver(state: RunState, job: JobState): boolean {
  if (job.kind !== "step" || job.attempt + 1 < state.maxAttempts || !isCompensating(state)) return false;
  return !state.undoable.some(({ id }) => compensationKey(id) === job.key);
}

/** It fails alone: failing the run would end it with steps that are not undone. */
function endLeftOver(draft: Draft, job: JobState, error: PlainError): void {
  const meta: StepMeta = { ...waitMeta(draft, job.key, job.attempt), op: "StepFailed" };
  if (settle(draft, job.key, stepFailedRow(job.key, meta, error))) ensurePass(draft);
}

/** A wait's time is over, or the run's. */
function decideTimer(draft: Draft, job: JobState, startedMs: number | null): void {
  dropJob(draft, jobKey("timer", job.key));
  if (job.key === DEADLINE) return decideDeadline(draft, job);
  if (job.key === FINISH_TIMEOUT) return decideFinish(draft, job, startedMs);
  const step = draft.state.open.get(job.key);
  if (step?.op !== "InvokeFunction") return endStep(draft, job.key, { type: "data", text: "null" });
  const message = `The function that step "${step.name ?? job.key}" invoked timed out.`;
  const error = { name: "InngestInvokeTimeoutError", code: "INVOKE_TIMEOUT", message };
  endStep(draft, job.key, { type: "error", error });
}

/** How long after the deadline steps that can be undone may end: what they have done is to be known. */
const UNDOABLE_GRACE_MS = 30_000;

function decideDeadline(draft: Draft, job: JobState): void {
  const { state, ctx } = draft;
  draft.log.push(jsonRow("TIMER_FIRED", DEADLINE, job.attempt, 0, {}));
  // What is undone already is undone to the end.
  if (isCompensating(state)) return;
  // The worker knows the deadline, too: it starts nothing more, and fails the run when these have ended.
  const isAwaited = job.attempt === 0 && state.begun.length > 0 && draft.jobs.has("pass");
  if (isAwaited) return dispatch(draft, { kind: "timer", key: DEADLINE, attempt: 1, delayMs: UNDOABLE_GRACE_MS });
  const at = new Date(state.deadlineMs ?? ctx.nowMs).toISOString();
  // Named as the SDK names its own.
  const message = `The run had not ended at its deadline, ${at}.`;
  fail(draft, { name: "RunDeadlineError", code: "RUN_DEADLINE_EXCEEDED", message });
}

/** Time counts from the run's start, which is not known when the run is made. */
function decideFinish(draft: Draft, job: JobState, startedMs: number | null): void {
  const { ctx, state } = draft;
  const limitMs = state.finishMs ?? 0;
  draft.log.push(jsonRow("TIMER_FIRED", FINISH_TIMEOUT, 0, job.iteration, {}));
  if (isCompensating(state)) return;
  // Its head says when the run started from the claim of the job that is decided on: not of this one.
  draft.unstarted = state.status === "PENDING";
  const untilMs = (startedMs ?? ctx.nowMs) + limitMs;
  if (untilMs > ctx.nowMs) return dispatch(draft, { kind: "timer", key: FINISH_TIMEOUT, attempt: 0, untilMs });
  const message = `The run had not ended ${limitMs} ms after its start (\`timeouts.finish\`).`;
  cancel(draft, plainError("RUN_CANCELLED", message));
}

function decideFetched(draft: Draft, job: JobState, result: FetchResult): void {
  if (result.type !== "retry") return endStep(draft, job.key, result);
  const { attempt, key } = job;
  if (attempt + 1 >= draft.state.maxAttempts) return endStep(draft, key, { type: "error", error: result.error });
  const delayMs = retryDelayMs(draft, attempt, result.retryAfterMs ?? wantedDelayMs(draft, key, attempt));
  const step = waitMeta(draft, key, attempt);
  draft.log.push(jsonRow("STEP_ATTEMPT_FAILED", key, attempt, 0, { step, error: result.error, delayMs }));
  dropJob(draft, jobKey("fetch", key));
  dispatch(draft, { kind: "fetch", key, attempt: attempt + 1, delayMs });
}

/** When the app wants a call repeated whose attempt of this number has failed. */
function wantedDelayMs({ state, ctx }: Draft, key: string, attempt: number): number | undefined {
  const call: unknown = JSON.parse(state.open.get(key)?.call ?? "null");
  const delays = isRecord(call) && Array.isArray(call.retryAfter) ? call.retryAfter : [];
  const text: unknown = delays[attempt];
  return typeof text === "string" ? parseRetryAfterMs(text, ctx.nowMs) : undefined;
}

/** A parked step is over: the run goes on. */
function endStep(draft: Draft, key: string, result: StepResult): void {
  const meta = waitMeta(draft, key, draft.state.attempts.get(key) ?? 0);
  const row =
    result.type === "data" ? stepCompletedRow(key, meta, result.text) : stepFailedRow(key, meta, result.error);
  const { state, ctx, log, settled } = draft;
  const problem = sizeProblem(state, ctx, state.memo.size + settled.size + 1, [...log, row]);
  if (problem !== null) return failWith(draft, "RUN_TOO_LARGE", problem);
  // What a run waited for before it began to undo brings nothing on: a pass would do what a step's job does already.
  if (settle(draft, key, row) && !isCompensating(draft.state)) ensurePass(draft);
}

function waitMeta({ state }: Draft, key: string, attempt: number): StepMeta {
  const { op = "Sleep", name = null, ordinal = null, undo } = state.open.get(key) ?? {};
  return {
    op,
    ...(name === null ? {} : { name }),
    ...(attempt > 0 ? { attempt } : {}),
    ...(ordinal === null ? {} : { ordinal }),
    ...(undo === undefined ? {} : { undo }),
  };
}
