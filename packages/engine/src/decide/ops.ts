/**
 * Decides on the ops of a report, in both ways of working: in place over checkpoints, and the plain protocol's planning
 * with its races (docs/decisions/0033).
 */
import { type BackoffPolicy, backoffDelayMs, type PlainError, plainError, unreachable } from "@holdfast/core";
import { isRecord, type Op } from "@holdfast/protocol";
import { jsonText } from "../json/json-text.ts";
import { parseRetryAfterMs } from "../parse-due.ts";
import { retryingStep } from "../run/fold.ts";
import { jsonRow, stepCompletedRow, stepFailedRow, stepMeta } from "../run/log-rows.ts";
import { ResultPlaces } from "../run/result-places.ts";
import { type JobState, jobKey } from "../run/run-state.ts";
import { isCompensating } from "../run/saga.ts";
import {
  attemptsOf,
  isHandlerFailure,
  isLazy,
  isParked,
  isParkedName,
  isResult,
  nameOf,
  type ParkedOpName,
} from "../run/step-ops.ts";
import { decideDefer } from "./defers.ts";
import {
  type Draft,
  dispatch,
  ensurePass,
  isClosed,
  isSettled,
  open,
  openStep,
  retryDelayMs,
  settle,
  sizeProblem,
} from "./draft.ts";
import type { PassReport } from "./input.ts";
import { outputProblem } from "./report.ts";
import { complete, continueAs, fail, failPass, failWith } from "./run-ends.ts";
import { park } from "./waits.ts";

type OpsReport = Extract<PassReport, { status: "OPS" }>;

/** What the ops of one report ask for, beyond the rows they leave. */
interface Followups {
  /** It is seen to already. */
  isOver: boolean;
  /** A pass at once. */
  pass: boolean;
  /** An op moved the run on, or was known already; without one a pass waits, so as not to spin. */
  moved: boolean;
  /** The plain protocol's retry of the pass that ran a step inline. */
  retryPass: { readonly attempt: number; readonly delayMs: number } | null;
}

interface OpContext {
  readonly draft: Draft;
  readonly job: JobState;
  readonly report: OpsReport;
  readonly inPlace: boolean;
  readonly followups: Followups;
  readonly places: ResultPlaces;
}

export function decideOps(draft: Draft, job: JobState, report: OpsReport, hint: boolean): void {
  const mayGoOn = hint && !draft.state.spreads && job.kind === "pass";
  const inPlace = mayGoOn && !report.ops.some((op) => plansAnew(draft, op));
  const followups: Followups = { isOver: false, pass: false, moved: false, retryPass: null };
  if (!inPlace) addPending(draft, job, report);
  else {
    draft.pending.clear();
    draft.forced = false;
  }
  if (draft.requestVersion === -1) draft.requestVersion = report.requestVersion;
  const context: OpContext = { draft, job, report, inPlace, followups, places: new ResultPlaces(draft.state) };
  for (const op of report.ops) if (isLazy(op)) decideDefer(draft, op);
  for (const op of report.ops) {
    decideOp(context, op);
    if (isClosed(draft)) return;
  }
  const problem = sizeProblem(draft.state, draft.ctx, stepCount(draft), draft.log);
  if (problem !== null) return failWith(draft, "RUN_TOO_LARGE", problem);
  continueRun(context);
}

/** Steps of the run, finished and open; each once, also those that this report settles or changes. */
function stepCount({ state, settled, opened }: Draft): number {
  let known = 0;
  for (const stepId of settled) if (state.open.has(stepId)) known += 1;
  for (const stepId of opened.keys()) if (state.open.has(stepId)) known += 1;
  return state.memo.size + settled.size + state.open.size + opened.size - known;
}

/** What comes next: a pass now, a pass later, or one of the waits that are already there. */
function continueRun(context: OpContext): void {
  const { draft, inPlace, followups } = context;
  if (followups.isOver) return;
  const retryInMs = inPlace ? nextRetryInMs(context) : null;
  if (followups.pass) return ensurePass(draft);
  if (followups.retryPass) return ensurePass(draft, followups.retryPass.delayMs, followups.retryPass.attempt);
  if (!followups.moved) return ensurePass(draft, draft.ctx.retry.baseMs);
  if (retryInMs !== null) ensurePass(draft, retryInMs);
}

/**
 * How long until failed steps are to be tried again; null when there are none. One that the function does not ask for
 * any more (its code has changed, or goes another way) is looked for again and again, but ever more rarely.
 */
function nextRetryInMs({ draft, report }: OpContext): number | null {
  const { nowMs, random } = draft.ctx;
  const asked = new Set(report.ops.map(({ id }) => id));
  let soonestMs = Number.POSITIVE_INFINITY;
  let missing = false;
  let missingDueMs = Number.POSITIVE_INFINITY;
  for (const stepId of new Set([...draft.state.open.keys(), ...draft.opened.keys()])) {
    const step = openStep(draft, stepId);
    if (step?.phase !== "retrying") continue;
    const dueMs = step.dueMs ?? nowMs;
    if (asked.has(stepId)) soonestMs = Math.min(soonestMs, dueMs);
    else {
      missing = true;
      missingDueMs = Math.min(missingDueMs, dueMs);
    }
  }
  draft.missed = missing ? draft.state.missed + 1 : 0;
  if (missing) {
    const lookMs = nowMs + backoffDelayMs(MISSING_STEP, draft.missed, random);
    soonestMs = Math.min(soonestMs, Math.max(missingDueMs, lookMs));
  }
  return soonestMs === Number.POSITIVE_INFINITY ? null : Math.max(0, soonestMs - nowMs);
}

/** Between passes that look for a step which the function did not ask for. */
const MISSING_STEP: BackoffPolicy = { baseMs: 1000, factor: 2, maxMs: 3_600_000, jitter: 0.2 };

/**
 * A worker that plans a step that has not run yet wants it dispatched: then the report is one of the plain protocol.
 */
function plansAnew(draft: Draft, op: Op): boolean {
  const phase = openStep(draft, op.id)?.phase;
  return op.op === "StepPlanned" && !isSettled(draft, op.id) && phase !== "retrying" && phase !== "waiting";
}

const isPlanned = (op: Op): boolean => op.op === "StepPlanned" || isParked(op);

/** The plain protocol's parallel rule: a report of several steps makes all of them pending before the next pass. */
function addPending(draft: Draft, job: JobState, report: OpsReport): void {
  if (job.kind !== "pass") return;
  const steps = report.ops.filter((op) => op.op !== "None" && op.op !== "RunComplete" && !isLazy(op));
  if (steps.length <= 1) return;
  const version = draft.state.requestVersion === -1 ? report.requestVersion : draft.state.requestVersion;
  if (version < 2) {
    draft.forced = true;
    return;
  }
  if (!steps.some(isPlanned)) return;
  draft.pending.clear();
  for (const op of steps) if (!isSettled(draft, op.id)) draft.pending.add(op.id);
}

function decideOp(context: OpContext, op: Op): void {
  const { draft, followups } = context;
  if (isHandlerFailure(op)) return decideHandlerFailure(context, op);
  const { op: name } = op;
  const place = isResult(op) ? context.places.placeOf(op, !isSettled(draft, op.id)) : undefined;
  if (isParkedName(name)) {
    followups.moved = true;
    return decideParked(context, op, name);
  }
  switch (name) {
    case "StepRun":
    case "Step":
      followups.moved = true;
      return settleCompleted(context, op, place);
    case "StepFailed":
      followups.moved = true;
      return settleFailed(context, op, place);
    case "StepError":
      followups.moved = true;
      return decideStepError(context, op);
    case "StepPlanned":
      followups.moved = true;
      return decidePlanned(context, op);
    case "RunComplete":
      return isRecord(op.opts?.continueAs)
        ? decideContinue(draft, op.opts.continueAs.data)
        : decideComplete(draft, jsonText(op.data));
    case "None":
    case "DiscoveryRequest":
      return;
    // Decided on before.
    case "DeferAdd":
    case "DeferAbort":
      return;
    case "SyncRunComplete":
      return failWith(
        draft,
        "OP_UNSUPPORTED",
        `Step "${op.displayName ?? op.id}" reports ${op.op}, which this gateway does not support yet.`,
      );
    default:
      return unreachable(name);
  }
}

/** The handler's value, after the results of its last steps: within the limits that it has when it comes alone. */
function decideComplete(draft: Draft, outputText: string): void {
  const problem = sizeProblem(draft.state, draft.ctx, stepCount(draft), draft.log);
  if (problem !== null) return failWith(draft, "RUN_TOO_LARGE", problem);
  const tooLarge = outputProblem(outputText);
  return tooLarge === null ? complete(draft, outputText) : failWith(draft, "STEP_RESULT_TOO_LARGE", tooLarge);
}

/** The same, for a run that goes on as another one. */
function decideContinue(draft: Draft, data: unknown): void {
  const problem = sizeProblem(draft.state, draft.ctx, stepCount(draft), draft.log);
  if (problem !== null) return failWith(draft, "RUN_TOO_LARGE", problem);
  const tooLarge = outputProblem(jsonText(data ?? {}));
  if (tooLarge !== null) return failWith(draft, "STEP_RESULT_TOO_LARGE", tooLarge);
  // A worker does not end a run so that undoes its steps.
  if (isCompensating(draft.state)) return failWith(draft, "OP_INVALID", "A run that undoes its steps cannot continue.");
  continueAs(draft, data);
}

/** The pass that reports the result has gone on over it, and lists what it waits for now. */
const isSeen = ({ inPlace }: OpContext, op: Op): boolean => inPlace && op.seen === true;

function decideHandlerFailure({ draft, job, report, followups }: OpContext, op: Op): void {
  followups.isOver = true;
  if (op.op === "StepFailed") fail(draft, errorOf(op));
  else failPass(draft, job, errorOf(op), parseRetryAfterMs(op.retryAfter, draft.ctx.nowMs) ?? report.retryAfterMs);
}

function errorOf(op: Op): PlainError {
  return op.error ?? { name: "Error", message: "The step failed without giving a reason." };
}

/** Which attempt of its step an op speaks of: as the worker says, else as the job or the log counts. */
function attemptOf({ draft, job, inPlace }: Pick<OpContext, "draft" | "job" | "inPlace">, op: Op): number {
  const failed = draft.state.attempts.get(op.id) ?? 0;
  if (inPlace) return Math.max(0, op.attempt ?? failed);
  return Math.max(failed, job.kind === "pass" ? draft.state.passAttempt : job.attempt);
}

function settleCompleted(context: OpContext, op: Op, place?: number): void {
  const { draft, followups } = context;
  if (isSettled(draft, op.id)) {
    followups.pass ||= !isSeen(context, op) && draft.pending.size === 0;
    return;
  }
  const text = jsonText(op.data);
  // Workers of the base protocol look at no limit. To run the step again would change nothing.
  const problem = outputProblem(text, `Step "${nameOf(op) ?? op.id}"`);
  if (problem !== null) return settleFailed(context, op, place, plainError("STEP_RESULT_TOO_LARGE", problem));
  const row = stepCompletedRow(op.id, stepMeta(op, attemptOf(context, op), place), text);
  followups.pass = (settle(draft, op.id, row) && !isSeen(context, op)) || followups.pass;
}

function settleFailed(context: OpContext, op: Op, place?: number, error: PlainError = errorOf(op)): void {
  const { draft, followups } = context;
  if (isSettled(draft, op.id)) {
    followups.pass ||= !isSeen(context, op) && draft.pending.size === 0;
    return;
  }
  const meta = stepMeta(op, attemptOf(context, op), place);
  const settles = settle(draft, op.id, stepFailedRow(op.id, meta, error));
  followups.pass = (settles && !isSeen(context, op)) || followups.pass;
}

/**
 * A worker repeats what it reported in a checkpoint whose outcome the gateway did not know. Steps with jobs of their own
 * are not looked at here: the job's fence decides.
 */
function isOnRecord({ draft, job, inPlace }: OpContext, { id, attempt }: Op): boolean {
  if (attempt === undefined || !(inPlace || job.kind === "pass")) return false;
  return Math.max(0, attempt) < (draft.state.attempts.get(id) ?? 0);
}

/** The failure that is on record already is tried again when it is due, as if it were reported now. */
function awaitRetry({ draft, followups }: OpContext, { id }: Op): void {
  const { nowMs } = draft.ctx;
  const delayMs = Math.max(0, (openStep(draft, id)?.dueMs ?? nowMs) - nowMs);
  followups.retryPass = { attempt: draft.state.attempts.get(id) ?? 0, delayMs };
}

function decideStepError(context: OpContext, op: Op): void {
  const { draft, job, report, inPlace, followups } = context;
  if (isSettled(draft, op.id)) {
    followups.pass = true;
    return;
  }
  // Another worker is at it.
  if (draft.jobs.has(jobKey("step", op.id)) || openStep(draft, op.id)?.phase === "waiting") return;
  if (isOnRecord(context, op)) return inPlace ? undefined : awaitRetry(context, op);
  const attempt = attemptOf(context, op);
  const final =
    (report.noRetry && report.ops.filter((one) => !isLazy(one)).length === 1) ||
    attempt + 1 >= attemptsOf(draft.state, op);
  if (final) return settleFailed(context, op);
  const delayMs = retryDelayMs(
    draft,
    attempt,
    parseRetryAfterMs(op.retryAfter, draft.ctx.nowMs) ?? report.retryAfterMs,
  );
  draft.log.push(
    jsonRow("STEP_ATTEMPT_FAILED", op.id, attempt, 0, { step: stepMeta(op, attempt), error: errorOf(op), delayMs }),
  );
  if (inPlace || job.kind === "pass") {
    const dueMs = draft.ctx.nowMs + delayMs;
    draft.opened.set(op.id, retryingStep(stepMeta(op, attempt), openStep(draft, op.id), "retrying", dueMs));
    if (!inPlace) followups.retryPass = { attempt: attempt + 1, delayMs };
  } else {
    dispatch(draft, { kind: "step", key: op.id, attempt: attempt + 1, delayMs });
  }
}

function decidePlanned(context: OpContext, op: Op): void {
  const { draft, inPlace, followups } = context;
  if (isSettled(draft, op.id)) {
    followups.pass ||= inPlace || draft.pending.size === 0;
    return;
  }
  const known = openStep(draft, op.id);
  if (draft.jobs.has(jobKey("step", op.id)) || known?.phase === "waiting" || inPlace) return;
  if (!known) open(draft, "STEP_PLANNED", op.id, { op: op.op, ...named(op), ...raced(op), ...numbered(op) });
  const attempt = draft.state.attempts.get(op.id) ?? 0;
  const untilMs = known?.phase === "retrying" && known.dueMs !== null ? { untilMs: known.dueMs } : {};
  dispatch(draft, { kind: "step", key: op.id, attempt, ...untilMs });
}

function decideParked({ draft, inPlace, followups }: OpContext, op: Op, name: ParkedOpName): void {
  if (isSettled(draft, op.id)) followups.pass ||= inPlace || draft.pending.size === 0;
  else if (isCompensating(draft.state)) {
    failWith(
      draft,
      "OP_INVALID",
      `Step "${nameOf(op) ?? op.id}" started to wait while the run is compensating its steps.`,
    );
  } else followups.pass = park(draft, op, name) || followups.pass;
}

function raced(op: Op): { race?: true } {
  return op.opts?.parallelMode === "race" ? { race: true } : {};
}

function named(op: Op): { name?: string } {
  const name = nameOf(op);
  return name === undefined ? {} : { name };
}

function numbered(op: Op): { ordinal?: number } {
  return op.ordinal === undefined ? {} : { ordinal: op.ordinal };
}
