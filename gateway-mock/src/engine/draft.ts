import { type BackoffPolicy, backoffDelayMs, type ErrorCode, type PlainError, type Random } from "@holdfast/core";
import type { HeadPatch, LogRow, NewJob } from "../store/index.ts";
import { type DispatchedMeta, jsonRow, type OpenMeta, type Plan } from "./log-rows.ts";
import { type JobState, jobKey, liveStatus, type OpenStep, type RunState } from "./run-state.ts";

/** What decisions take from outside. */
export interface DecideContext {
  /** The database's time, as well as it is known. */
  readonly nowMs: number;
  readonly random: Random;
  /** Makes ids of jobs. */
  readonly newId: () => string;
  readonly retry: BackoffPolicy;
  readonly maxSteps: number;
}

/** What is to be written: one transition, under the version of the state it was made from. */
export interface Decision {
  readonly log: readonly LogRow[];
  readonly head: HeadPatch;
  readonly removeJobs: readonly string[] | "all";
  readonly addJobs: readonly NewJob[];
}

/** A decision in the making: the state as it was, and what changes. */
export interface Draft {
  readonly state: RunState;
  readonly ctx: DecideContext;
  readonly log: LogRow[];
  readonly jobs: Map<string, JobState>;
  readonly removed: string[];
  readonly added: NewJob[];
  readonly settled: Set<string>;
  readonly opened: Map<string, OpenStep>;
  readonly pending: Set<string>;
  requestVersion: number;
  forced: boolean;
  dispatches: number;
  /** The job whose report is decided on. */
  reported: JobState | null;
  head: HeadPatch | null;
}

export function draftOf(state: RunState, ctx: DecideContext): Draft {
  return {
    state,
    ctx,
    log: [],
    jobs: new Map(state.jobs),
    removed: [],
    added: [],
    settled: new Set(),
    opened: new Map(),
    pending: new Set(state.pending),
    requestVersion: state.requestVersion,
    forced: state.forced,
    dispatches: state.dispatches,
    reported: null,
    head: null,
  };
}

export function isSettled(draft: Draft, stepId: string): boolean {
  return draft.state.memo.has(stepId) || draft.settled.has(stepId);
}

export function openStep(draft: Draft, stepId: string): OpenStep | undefined {
  if (isSettled(draft, stepId)) return undefined;
  return draft.opened.get(stepId) ?? draft.state.open.get(stepId);
}

/** Writes down that a step is finished. True when the run should make a pass for it. */
export function settle(draft: Draft, stepId: string, row: LogRow): boolean {
  if (isSettled(draft, stepId)) return false;
  const race = openStep(draft, stepId)?.race === true;
  draft.log.push(row);
  draft.settled.add(stepId);
  draft.opened.delete(stepId);
  draft.pending.delete(stepId);
  dropJob(draft, jobKey("step", stepId));
  dropJob(draft, jobKey("timer", stepId));
  return race || draft.pending.size === 0;
}

export function open(draft: Draft, kind: "STEP_PLANNED" | "STEP_WAITING", stepId: string, meta: OpenMeta): void {
  draft.log.push(jsonRow(kind, stepId, 0, 0, meta));
  const dueMs = kind === "STEP_PLANNED" ? null : Math.max(draft.ctx.nowMs + (meta.delayMs ?? 0), meta.untilMs ?? 0);
  const phase = kind === "STEP_PLANNED" ? "planned" : "waiting";
  draft.opened.set(stepId, { phase, race: meta.race === true, dueMs });
}

export interface JobWish {
  readonly kind: NewJob["kind"];
  readonly key: string;
  readonly attempt: number;
  readonly delayMs?: number;
  readonly untilMs?: number;
}

export function dispatch(draft: Draft, wish: JobWish): void {
  const { kind, key, attempt, delayMs, untilMs } = wish;
  const id = draft.ctx.newId();
  draft.dispatches += 1;
  const iteration = draft.dispatches;
  const dueMs = Math.max(draft.ctx.nowMs + (delayMs ?? 0), untilMs ?? 0);
  const times = { ...(delayMs ? { delayMs } : {}), ...(untilMs ? { untilMs } : {}) };
  const plan = kind === "pass" ? changedPlan(draft) : undefined;
  const meta: DispatchedMeta = { job: id, kind, ...times, ...(plan ? { plan } : {}) };
  draft.jobs.set(jobKey(kind, key), { id, kind, key, attempt, iteration, dueMs });
  draft.log.push(jsonRow("DISPATCHED", key, attempt, iteration, meta));
  draft.added.push({
    id,
    runId: draft.state.runId,
    kind,
    key,
    functionId: kind === "timer" ? "" : draft.state.functionId,
    attempt,
    iteration,
    ...(delayMs ? { delayMs } : {}),
    ...(untilMs ? { notBeforeMs: untilMs } : {}),
  });
}

export function dropJob(draft: Draft, key: string): void {
  const job = draft.jobs.get(key);
  if (!job) return;
  draft.jobs.delete(key);
  const fresh = draft.added.findIndex((one) => one.id === job.id);
  if (fresh >= 0) draft.added.splice(fresh, 1);
  else draft.removed.push(job.id);
}

/**
 * Sees to it that a pass is made after `delayMs`. While one may be running no second one is made; one that is due later
 * than wanted, and therefore not running, is brought forward.
 */
export function ensurePass(draft: Draft, delayMs = 0, attempt = 0): void {
  const { nowMs } = draft.ctx;
  const current = draft.jobs.get("pass");
  if (current) {
    if (current.dueMs <= Math.max(nowMs, nowMs + delayMs)) return;
    dropJob(draft, "pass");
  }
  dispatch(draft, { kind: "pass", key: "", attempt, ...(delayMs > 0 ? { delayMs } : {}) });
}

export function fail(draft: Draft, error: PlainError): void {
  draft.log.push(jsonRow("RUN_FAILED", "", 0, 0, { error }));
  draft.head = { status: "FAILED", errorJson: JSON.stringify(error) };
}

export function failWith(draft: Draft, code: ErrorCode, message: string): void {
  fail(draft, { name: "HoldfastError", code, message });
}

export function retryDelayMs(draft: Draft, attempt: number, retryAfterMs: number | undefined): number {
  return retryAfterMs ?? backoffDelayMs(draft.ctx.retry, attempt + 1, draft.ctx.random);
}

/** Closes the draft. A run that goes on always has a job, and a reported job always leaves a row that ends it. */
export function finish(draft: Draft): Decision {
  if (draft.head) return { log: draft.log, head: draft.head, removeJobs: "all", addJobs: [] };
  if (draft.jobs.size === 0) ensurePass(draft);
  const { reported } = draft;
  if (reported && !draft.jobs.has(jobKey(reported.kind, reported.key)) && !isEndedByRow(draft, reported)) {
    const plan = reported.kind === "pass" ? changedPlan(draft) : undefined;
    draft.log.push(jsonRow("PASS_REPORTED", reported.key, reported.attempt, reported.iteration, plan ? { plan } : {}));
  }
  const status = liveStatus(draft.jobs.values(), draft.ctx.nowMs);
  return { log: draft.log, head: { status }, removeJobs: draft.removed, addJobs: draft.added };
}

/** A step's job ends with any row about its step's outcome. */
function isEndedByRow(draft: Draft, job: JobState): boolean {
  if (job.kind !== "step") return false;
  return (
    draft.settled.has(job.key) || draft.log.some((row) => row.key === job.key && row.kind === "STEP_ATTEMPT_FAILED")
  );
}

function changedPlan(draft: Draft): Plan | undefined {
  const { state, requestVersion, forced, pending } = draft;
  const before = [...state.pending].filter((id) => !draft.settled.has(id));
  const same = before.length === pending.size && before.every((id) => pending.has(id));
  if (same && requestVersion === state.requestVersion && forced === state.forced) return undefined;
  return { requestVersion, forced, pending: [...pending] };
}
