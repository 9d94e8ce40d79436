import { type PlainError, parseGoDurationMs, unreachable } from "@holdfast/core";
import type { Op } from "@holdfast/protocol";
import type { Report } from "./decide.ts";
import {
  type Draft,
  dispatch,
  ensurePass,
  failWith,
  isSettled,
  open,
  openStep,
  retryDelayMs,
  settle,
} from "./draft.ts";
import { completedRow, jsonRow, stepCompletedRow, stepFailedRow, stepMeta } from "./log-rows.ts";
import { type JobState, jobKey } from "./run-state.ts";

type OpsReport = Extract<Report, { status: "OPS" }>;

/** What the ops of one report ask for, beyond the rows they leave. */
interface Wishes {
  /** A pass at once. */
  pass: boolean;
  /** Something was said that moves the run on or was known already; without it a pass waits, so as not to spin. */
  told: boolean;
  /** The plain protocol's retry of the pass that ran a step inline. */
  retryPass: { readonly attempt: number; readonly delayMs: number } | null;
}

interface OpContext {
  readonly draft: Draft;
  readonly job: JobState;
  readonly report: OpsReport;
  readonly inPlace: boolean;
  readonly wishes: Wishes;
}

/** The longest wait: 366 days. */
const MAX_SLEEP_MS = 366 * 86_400_000;

export function decideOps(draft: Draft, job: JobState, report: OpsReport, hint: boolean): void {
  const inPlace = hint && job.kind === "pass" && !report.ops.some((op) => plansAnew(draft, op));
  const wishes: Wishes = { pass: false, told: false, retryPass: null };
  if (!inPlace) plan(draft, job, report);
  else {
    draft.pending.clear();
    draft.forced = false;
  }
  if (draft.requestVersion === -1) draft.requestVersion = report.requestVersion;
  const context: OpContext = { draft, job, report, inPlace, wishes };
  for (const op of report.ops) {
    decideOp(context, op);
    if (draft.head) break;
  }
  if (draft.head) return;
  if (draft.state.memo.size + draft.settled.size + draft.state.open.size + draft.opened.size > draft.ctx.maxSteps) {
    return failWith(draft, "RUN_TOO_LARGE", `The run has more than ${draft.ctx.maxSteps} steps.`);
  }
  goOn(context);
}

/** What comes next: a pass now, a pass later, or one of the waits that are already there. */
function goOn({ draft, inPlace, wishes }: OpContext): void {
  if (wishes.pass) return ensurePass(draft);
  if (wishes.retryPass) return ensurePass(draft, wishes.retryPass.delayMs, wishes.retryPass.attempt);
  if (!wishes.told) return ensurePass(draft, draft.ctx.retry.baseMs);
  if (!inPlace) return;
  const dueMs = earliestRetryMs(draft);
  if (dueMs !== null) ensurePass(draft, Math.max(0, dueMs - draft.ctx.nowMs));
}

/** The earliest instant at which a failed step may run again. */
function earliestRetryMs(draft: Draft): number | null {
  let earliest: number | null = null;
  const look = (stepId: string): void => {
    const step = openStep(draft, stepId);
    if (step?.phase !== "retrying") return;
    const dueMs = step.dueMs ?? draft.ctx.nowMs;
    if (earliest === null || dueMs < earliest) earliest = dueMs;
  };
  for (const stepId of draft.state.open.keys()) look(stepId);
  for (const stepId of draft.opened.keys()) look(stepId);
  return earliest;
}

/** An agent that plans a step nobody has run yet wants it dispatched: then the report is one of the plain protocol. */
function plansAnew(draft: Draft, op: Op): boolean {
  return op.op === "StepPlanned" && !isSettled(draft, op.id) && openStep(draft, op.id)?.phase !== "retrying";
}

const PLAN_OPS: ReadonlySet<string> = new Set([
  "StepPlanned",
  "Sleep",
  "WaitForEvent",
  "WaitForSignal",
  "InvokeFunction",
]);

/** The plain protocol's parallel rule: a report of several steps makes all of them pending before the next pass. */
function plan(draft: Draft, job: JobState, report: OpsReport): void {
  if (job.kind !== "pass") return;
  const steps = report.ops.filter((op) => op.op !== "None" && op.op !== "RunComplete");
  if (steps.length <= 1) return;
  const version = draft.state.requestVersion === -1 ? report.requestVersion : draft.state.requestVersion;
  if (version < 2) {
    draft.forced = true;
    return;
  }
  if (!steps.some((op) => PLAN_OPS.has(op.op))) return;
  draft.pending.clear();
  for (const op of steps) if (!isSettled(draft, op.id)) draft.pending.add(op.id);
}

function decideOp(context: OpContext, op: Op): void {
  const { draft, wishes } = context;
  switch (op.op) {
    case "StepRun":
    case "Step":
      wishes.told = true;
      if (isSettled(draft, op.id)) wishes.pass ||= draft.pending.size === 0;
      else
        wishes.pass =
          settle(draft, op.id, stepCompletedRow(op.id, stepMeta(op, attemptOf(context, op)), text(op.data))) ||
          wishes.pass;
      return;
    case "StepFailed":
      wishes.told = true;
      return settleFailed(context, op);
    case "StepError":
      wishes.told = true;
      return decideStepError(context, op);
    case "StepPlanned":
      wishes.told = true;
      return decidePlanned(context, op);
    case "Sleep":
      wishes.told = true;
      return decideSleep(context, op);
    case "RunComplete": {
      const output = text(op.data);
      draft.log.push(completedRow(output));
      draft.head = { status: "COMPLETED", outputJson: output };
      return;
    }
    case "None":
    case "DiscoveryRequest":
      return;
    case "WaitForEvent":
    case "WaitForSignal":
    case "InvokeFunction":
    case "AIGateway":
    case "Gateway":
    case "DeferAdd":
    case "DeferAbort":
    case "SyncRunComplete":
      return failWith(
        draft,
        "OP_UNSUPPORTED",
        `Step "${op.displayName ?? op.id}" reports ${op.op}, which this gateway cannot do yet.`,
      );
    default:
      return unreachable(op.op);
  }
}

function text(data: unknown): string {
  return JSON.stringify(data) ?? "null";
}

function errorOf(op: Op): PlainError {
  return op.error ?? { name: "Error", message: "The step failed without saying why." };
}

/** Which attempt of its step an op speaks of: as the agent says, else as the job or the log counts. */
function attemptOf({ draft, job, inPlace }: Pick<OpContext, "draft" | "job" | "inPlace">, op: Op): number {
  const failed = draft.state.attempts.get(op.id) ?? 0;
  if (inPlace) return Math.max(0, op.attempt ?? failed);
  return Math.max(failed, job.kind === "pass" ? draft.state.passAttempt : job.attempt);
}

function settleFailed(context: OpContext, op: Op): void {
  const { draft, wishes } = context;
  if (isSettled(draft, op.id)) {
    wishes.pass ||= draft.pending.size === 0;
    return;
  }
  const meta = stepMeta(op, attemptOf(context, op));
  wishes.pass = settle(draft, op.id, stepFailedRow(op.id, meta, errorOf(op))) || wishes.pass;
}

function decideStepError(context: OpContext, op: Op): void {
  const { draft, job, report, inPlace, wishes } = context;
  if (isSettled(draft, op.id)) {
    wishes.pass = true;
    return;
  }
  // Somebody else is at it.
  if (draft.jobs.has(jobKey("step", op.id)) || draft.jobs.has(jobKey("timer", op.id))) return;
  const attempt = attemptOf(context, op);
  if (inPlace && attempt < (draft.state.attempts.get(op.id) ?? 0)) return;
  const final = (report.noRetry && report.ops.length === 1) || attempt + 1 >= draft.state.maxAttempts;
  if (final) return settleFailed(context, op);
  const delayMs = retryDelayMs(
    draft,
    attempt,
    parseRetryAfterMs(op.retryAfter, draft.ctx.nowMs) ?? report.retryAfterMs,
  );
  draft.log.push(
    jsonRow("STEP_ATTEMPT_FAILED", op.id, attempt, 0, { step: stepMeta(op, attempt), error: errorOf(op), delayMs }),
  );
  const race = openStep(draft, op.id)?.race === true;
  if (inPlace || job.kind === "pass") {
    draft.opened.set(op.id, { phase: "retrying", race, dueMs: draft.ctx.nowMs + delayMs });
    if (!inPlace) wishes.retryPass = { attempt: attempt + 1, delayMs };
  } else {
    dispatch(draft, { kind: "step", key: op.id, attempt: attempt + 1, delayMs });
  }
}

function decidePlanned(context: OpContext, op: Op): void {
  const { draft, inPlace, wishes } = context;
  if (isSettled(draft, op.id)) {
    wishes.pass ||= inPlace || draft.pending.size === 0;
    return;
  }
  if (draft.jobs.has(jobKey("step", op.id)) || inPlace) return;
  const known = openStep(draft, op.id);
  if (!known) open(draft, "STEP_PLANNED", op.id, { op: op.op, ...named(op), ...raced(op) });
  const attempt = draft.state.attempts.get(op.id) ?? 0;
  const untilMs = known?.phase === "retrying" && known.dueMs !== null ? { untilMs: known.dueMs } : {};
  dispatch(draft, { kind: "step", key: op.id, attempt, ...untilMs });
}

function decideSleep({ draft, inPlace, wishes }: OpContext, op: Op): void {
  if (isSettled(draft, op.id)) wishes.pass ||= inPlace || draft.pending.size === 0;
  else decideParked(draft, op);
}

/** A sleep begins: a timer, once per step. */
export function decideParked(draft: Draft, op: Op): void {
  if (isSettled(draft, op.id) || draft.jobs.has(jobKey("timer", op.id))) return;
  const until = parseSleep(op.name ?? "", draft.ctx.nowMs);
  if (until === undefined) {
    const error = `Step "${op.displayName ?? op.id}" sleeps for ${JSON.stringify(op.name)}, which is neither a duration nor an instant.`;
    return failWith(draft, "OP_INVALID", error);
  }
  open(draft, "STEP_WAITING", op.id, { op: op.op, ...named(op), ...raced(op), ...until });
  dispatch(draft, { kind: "timer", key: op.id, attempt: 0, ...until });
}

function named(op: Op): { name?: string } {
  const name = op.displayName ?? op.userland?.id;
  return name === undefined ? {} : { name };
}

function raced(op: Op): { race?: true } {
  return op.opts?.parallelMode === "race" ? { race: true } : {};
}

/** A duration ("1m30s"; "" = none) or an ISO 8601 instant. */
function parseSleep(name: string, nowMs: number): { delayMs?: number; untilMs?: number } | undefined {
  if (name === "") return {};
  const delayMs = parseGoDurationMs(name);
  if (delayMs !== undefined) return delayMs > MAX_SLEEP_MS ? undefined : { delayMs };
  const untilMs = Date.parse(name);
  if (Number.isNaN(untilMs) || untilMs - nowMs > MAX_SLEEP_MS) return undefined;
  return { untilMs: Math.max(1, untilMs) };
}

const MIN_RETRY_AFTER_MS = 1000;
const MAX_RETRY_AFTER_MS = 86_400_000;

/** Whole seconds or an ISO 8601 instant, clamped to 1 s … 24 h; undefined when there is none or it cannot be read. */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === "") return undefined;
  const delayMs = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  if (Number.isNaN(delayMs)) return undefined;
  return Math.min(Math.max(Math.round(delayMs), MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
}
