/**
 * Makes a run's state of its log, row by row; nothing else is truth. What the gateway has in memory goes through the
 * same `applyRow`.
 */
import { unreachable } from "@holdfast/core";
import type { LogRow, StoredLogRow, StoredRun } from "@holdfast/store";

import {
  type DeferMeta,
  type DispatchedMeta,
  type FailureMeta,
  memoOf,
  type OpenMeta,
  type PinMeta,
  type RevivalMeta,
  readMeta,
  readRunCreated,
  readStepRow,
  type SettledKind,
  type StepMeta,
  type StepPlan,
} from "./log-rows.ts";
import { placeLast } from "./result-places.ts";
import {
  DEADLINE,
  type Defer,
  emptyRun,
  FINISH_TIMEOUT,
  isEnded,
  isRunTimer,
  jobKey,
  liveStatus,
  type OpenStep,
  type RunState,
} from "./run-state.ts";

/** Jobs that end with their step. */
const STEP_JOBS = ["step", "timer", "fetch"] as const;
const NO_KEYS: readonly string[] = [];

/** Under which a step's jobs are among these, if they are there. A run whose only job is its pass has none of them. */
export function stepJobKeys(jobs: ReadonlyMap<string, unknown>, stepId: string): readonly string[] {
  const hasOthers = jobs.size > 1 || (jobs.size === 1 && !jobs.has("pass"));
  return hasOthers ? STEP_JOBS.map((kind) => jobKey(kind, stepId)) : NO_KEYS;
}

/** The state of a run as the store has it. */
export function foldRun(stored: StoredRun): RunState {
  const { head } = stored;
  const state = emptyRun({
    runId: head.id,
    functionId: head.functionId,
    appId: head.appId,
    appVersion: head.appVersion,
    version: head.version,
  });
  return fold(state, stored.log);
}

export function fold(state: RunState, log: readonly StoredLogRow[]): RunState {
  for (const row of log) applyRow(state, row, row.atMs);
  state.seq = log.at(-1)?.seq ?? state.seq;
  return state;
}

/**
 * Moves `state` on by one fact, written at `atMs`. After the end nothing changes any more. `meta`: of a step that has
 * ended what the row's text says of it, where it was just made.
 */
export function applyRow(state: RunState, row: LogRow, atMs: number, meta?: StepMeta): void {
  if (isEnded(state.status) && row.kind !== "RUN_REVIVED") return;
  switch (row.kind) {
    case "RUN_CREATED":
      return applyCreated(state, row, atMs);
    case "DISPATCHED":
      return applyDispatched(state, row, atMs);
    case "STEP_PLANNED":
    case "STEP_WAITING":
      return applyOpened(state, row, atMs);
    case "STEP_BEGUN":
      if (!state.memo.has(row.key) && !state.begun.includes(row.key)) state.begun = [...state.begun, row.key];
      return;
    case "STEP_COMPLETED":
    case "STEP_FAILED":
      return applySettled(state, row.kind, row, meta);
    case "STEP_ATTEMPT_FAILED":
      return applyAttemptFailed(state, row, atMs);
    case "PASS_FAILED":
      if (row.key === "") state.jobs.delete("pass");
      else state.jobs.delete(jobKey("step", row.key));
      state.losses.clear();
      return;
    case "PASS_REPORTED":
      state.jobs.delete(row.key === "" ? "pass" : jobKey("step", row.key));
      applyPlan(state, readMeta<{ plan?: StepPlan }>(row.dataJson).plan);
      state.status = liveStatus(state.jobs.values(), atMs);
      state.losses.clear();
      return;
    case "PINNED":
      return applyPinned(state, readMeta<PinMeta>(row.dataJson));
    case "TIMER_FIRED":
      state.jobs.delete(jobKey("timer", row.key));
      return;
    case "LEASE_LOST":
      state.losses.set(row.key, (state.losses.get(row.key) ?? 0) + 1);
      return;
    case "RUN_REVIVED":
      return applyRevived(state, row);
    case "DEFERRED":
      if (!state.defers.has(row.key)) setDefer(state, row.key, deferOf(readMeta<DeferMeta>(row.dataJson)));
      return;
    case "DEFER_ABORTED": {
      const defer = state.defers.get(row.key);
      if (defer?.status === "scheduled") setDefer(state, row.key, { ...defer, status: "aborted", inputText: "" });
      return;
    }
    case "STALLED":
    case "COMMITS_LOST":
      return;
    case "RUN_COMPLETED":
      return end(state, "COMPLETED");
    case "RUN_FAILED":
      return end(state, "FAILED");
    case "RUN_CANCELLED":
      return end(state, "CANCELLED");
    default:
      return unreachable(row.kind);
  }
}

/** What it had deferred began with its end. */
function applyRevived(state: RunState, row: LogRow): void {
  const { dropped, pin } = readMeta<RevivalMeta>(row.dataJson);
  state.status = "RUNNING";
  state.revivals = row.iteration;
  state.passAttempt = 0;
  state.losses.clear();
  for (const key of dropped) {
    state.stateLength -= state.memo.get(key)?.text.length ?? 0;
    state.memo.delete(key);
  }
  for (const [key, defer] of state.defers) {
    if (defer.status === "scheduled") setDefer(state, key, { ...defer, status: "begun", inputText: "" });
  }
  if (pin) applyPinned(state, pin);
}

function setDefer(state: RunState, key: string, defer: Defer): void {
  state.defers = new Map([...state.defers, [key, defer]]);
}

export function deferOf({ functionId, rejected, input = {}, meta }: DeferMeta): Defer {
  if (rejected !== undefined) return { status: "rejected", functionId, inputText: "", meta: null };
  return { status: "scheduled", functionId, inputText: JSON.stringify(input), meta: meta ?? null };
}

function applyCreated(state: RunState, row: LogRow, atMs: number): void {
  const { meta, eventText, moreText } = readRunCreated(row.dataJson);
  state.maxAttempts = meta.maxAttempts;
  state.eventText = eventText;
  state.moreText = moreText;
  state.stateLength = eventText.length + moreText.length;
  state.flow = meta.flow ?? null;
  state.parent = meta.parent ?? null;
  state.chain = meta.chain ?? null;
  state.quiet = meta.quiet === true;
  if (meta.cancels) state.waits = meta.cancels;
  const beginMs = Math.max(atMs, meta.startMs ?? 0);
  state.deadlineMs = meta.deadlineInMs === undefined ? null : beginMs + meta.deadlineInMs;
  state.finishMs = meta.finishInMs ?? null;
  state.createdMs = atMs;
  state.deadlineAsked = meta.deadlineAsked === true;
  state.spreads = meta.spreads === true;
}

/** Timers that it has then follow with rows of their own. */
function applyPinned(state: RunState, { version, maxAttempts, deadlineMs, finishInMs, cancels }: PinMeta): void {
  state.appVersion = version;
  state.maxAttempts = maxAttempts ?? state.maxAttempts;
  if (deadlineMs !== undefined) {
    state.deadlineMs = deadlineMs;
    state.jobs.delete(jobKey("timer", DEADLINE));
  }
  if (finishInMs !== undefined) {
    state.finishMs = finishInMs;
    state.jobs.delete(jobKey("timer", FINISH_TIMEOUT));
  }
  if (cancels) state.waits = cancels;
}

function applyDispatched(state: RunState, row: LogRow, atMs: number): void {
  const meta = readMeta<DispatchedMeta>(row.dataJson);
  const { key, attempt, iteration } = row;
  const dueMs = Math.max(atMs + (meta.delayMs ?? 0), meta.untilMs ?? 0);
  state.jobs.set(jobKey(meta.kind, key), { id: meta.job, kind: meta.kind, key, attempt, iteration, dueMs });
  applyPlan(state, meta.plan);
  state.dispatches = Math.max(state.dispatches, iteration);
  if (meta.kind === "pass") {
    state.passAttempt = attempt;
    if (iteration > 1) state.status = liveStatus(state.jobs.values(), atMs);
  } else if (!isRunTimer(key)) {
    state.status = liveStatus(state.jobs.values(), atMs);
  }
}

function applyPlan(state: RunState, plan: StepPlan | undefined): void {
  if (!plan) return;
  state.requestVersion = plan.requestVersion;
  state.forced = plan.forced;
  state.missed = plan.missed ?? 0;
  state.pending.clear();
  for (const id of plan.pending) if (!state.memo.has(id)) state.pending.add(id);
}

function applyOpened(state: RunState, row: LogRow, atMs: number): void {
  if (state.memo.has(row.key)) return;
  const meta = readMeta<OpenMeta>(row.dataJson);
  const phase = row.kind === "STEP_PLANNED" ? "planned" : "waiting";
  const dueMs = phase === "planned" ? null : Math.max(atMs + (meta.delayMs ?? 0), meta.untilMs ?? 0);
  state.open.set(row.key, { sinceMs: atMs, ...openStepOf(meta, phase, dueMs, state.memo.size) });
  if (meta.wait && !state.waits.includes(row.key)) state.waits = [...state.waits, row.key];
}

export function openStepOf(meta: OpenMeta, phase: OpenStep["phase"], dueMs: number | null, finished: number): OpenStep {
  const { name, expression = null, since } = meta.wait ?? {};
  return {
    phase,
    race: meta.race === true,
    dueMs,
    op: meta.op,
    name: meta.name ?? null,
    ordinal: meta.ordinal ?? null,
    call: meta.call === undefined ? null : JSON.stringify(meta.call),
    earlier: since === undefined || name === undefined ? null : { name, expression, finished },
    ...(meta.undo === undefined ? {} : { undo: meta.undo }),
  };
}

function applySettled(state: RunState, kind: SettledKind, row: LogRow, known: StepMeta | undefined): void {
  const { key } = row;
  if (state.memo.has(key)) return;
  const { meta, memo } = known ? { meta: known, memo: memoOf(kind, row.dataJson) } : readStepRow(kind, row.dataJson);
  if (meta.clears) clearWork(state);
  if (meta.undo !== undefined && kind === "STEP_COMPLETED") {
    // What has its own place in the order is the step that carries what undoes.
    state.undoable = [...state.undoable.filter(({ id }) => id !== meta.undo), { key, id: meta.undo }];
  }
  state.memo.set(key, {
    text: memo,
    signature: signatureOf(meta),
    isUndefined: meta.undefined === true,
  });
  state.stateLength += memo.length;
  if (meta.at !== undefined) placeResult(state, meta.at);
  state.open.delete(key);
  endBegun(state, key);
  state.attempts.delete(key);
  state.pending.delete(key);
  if (state.waits.length > 0) state.waits = state.waits.filter((one) => one !== key);
  for (const name of stepJobKeys(state.jobs, key)) state.jobs.delete(name);
  state.passAttempt = 0;
  state.losses.clear();
}

/** The last result was given to the run's code before others that were stored earlier. */
function placeResult(state: RunState, at: number): void {
  if (at >= state.memo.size - 1) return;
  placeLast(state.memo, at);
  for (const [key, step] of state.open) {
    if (step.earlier === null || step.earlier.finished <= at) continue;
    state.open.set(key, { ...step, earlier: { ...step.earlier, finished: step.earlier.finished + 1 } });
  }
}

function endBegun(state: RunState, key: string): void {
  if (state.begun.length > 0) state.begun = state.begun.filter((one) => one !== key);
}

/** Nothing that the run was at goes on; what may still end the run as a whole stays. */
function clearWork(state: RunState): void {
  for (const [name, job] of state.jobs) if (!isRunTimer(job.key)) state.jobs.delete(name);
  state.waits = state.waits.filter((key) => !state.open.has(key));
  state.open.clear();
  state.begun = [];
  state.attempts.clear();
  state.pending.clear();
}

/** However it ended, a step with a body is one kind. */
function signatureOf({ op, name, ordinal }: StepMeta): string {
  const kind = BODIES.has(op) ? "StepRun" : op;
  const named = name === undefined ? kind : `${kind} ${name}`;
  return ordinal === undefined ? named : `${kind}:${name ?? ""}#${ordinal}`;
}

const BODIES: ReadonlySet<string> = new Set(["Step", "StepRun", "StepError", "StepFailed", "StepPlanned"]);

function applyAttemptFailed(state: RunState, row: LogRow, atMs: number): void {
  if (state.memo.has(row.key)) return;
  const { step, delayMs } = readMeta<FailureMeta>(row.dataJson);
  const before = state.open.get(row.key);
  const planned = state.jobs.delete(jobKey("step", row.key));
  endBegun(state, row.key);
  state.attempts.set(row.key, Math.max(row.attempt + 1, state.attempts.get(row.key) ?? 0));
  state.losses.clear();
  const dueMs = planned ? null : atMs + delayMs;
  if (state.jobs.delete(jobKey("fetch", row.key)) && before)
    state.open.set(row.key, { ...before, dueMs, sinceMs: atMs + delayMs });
  else state.open.set(row.key, retryingStep(step, before, planned ? "planned" : "retrying", dueMs));
}

export function retryingStep(
  meta: StepMeta,
  before: OpenStep | undefined,
  phase: OpenStep["phase"],
  dueMs: number | null,
): OpenStep {
  const { op, name, ordinal } = meta;
  return {
    phase,
    race: before?.race === true,
    dueMs,
    op,
    name: name ?? null,
    ordinal: ordinal ?? null,
    call: null,
    earlier: null,
  };
}

function end(state: RunState, status: "COMPLETED" | "FAILED" | "CANCELLED"): void {
  state.status = status;
  state.jobs.clear();
  state.open.clear();
  state.attempts.clear();
  state.pending.clear();
  state.waits = [];
}

/** Mostly they are empty; clearing one of these makes a new table all the same. */
