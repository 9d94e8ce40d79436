import { unreachable } from "@holdfast/core";
import type { LogRow, StoredLogRow, StoredRun } from "../store/index.ts";
import {
  type DispatchedMeta,
  type FailureMeta,
  type OpenMeta,
  type Plan,
  readMeta,
  readRunCreated,
  readStepRow,
} from "./log-rows.ts";
import { emptyRun, isEnded, jobKey, liveStatus, type RunState } from "./run-state.ts";

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
  return state;
}

/** Moves `state` on by one fact, written at `atMs`. After the end nothing changes any more. */
export function applyRow(state: RunState, row: LogRow, atMs: number): void {
  if (isEnded(state.status)) return;
  switch (row.kind) {
    case "RUN_CREATED":
      Object.assign(state, readRunCreated(row.dataJson));
      return;
    case "DISPATCHED":
      return applyDispatched(state, row, atMs);
    case "STEP_PLANNED":
    case "STEP_WAITING":
      return applyOpened(state, row, atMs);
    case "STEP_COMPLETED":
    case "STEP_FAILED":
      return applySettled(state, row.kind, row);
    case "STEP_ATTEMPT_FAILED":
      return applyAttemptFailed(state, row, atMs);
    case "PASS_FAILED":
      if (row.key === "") state.jobs.delete("pass");
      else state.jobs.delete(jobKey("step", row.key));
      state.losses = 0;
      return;
    case "PASS_REPORTED":
      state.jobs.delete(row.key === "" ? "pass" : jobKey("step", row.key));
      applyPlan(state, readMeta<{ plan?: Plan }>(row.dataJson).plan);
      state.status = liveStatus(state.jobs.values(), atMs);
      state.losses = 0;
      return;
    case "LEASE_LOST":
      state.losses += 1;
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
  } else {
    state.status = liveStatus(state.jobs.values(), atMs);
  }
}

function applyPlan(state: RunState, plan: Plan | undefined): void {
  if (!plan) return;
  state.requestVersion = plan.requestVersion;
  state.forced = plan.forced;
  state.pending.clear();
  for (const id of plan.pending) if (!state.memo.has(id)) state.pending.add(id);
}

function applyOpened(state: RunState, row: LogRow, atMs: number): void {
  if (state.memo.has(row.key)) return;
  const meta = readMeta<OpenMeta>(row.dataJson);
  const phase = row.kind === "STEP_PLANNED" ? "planned" : "waiting";
  const dueMs = phase === "planned" ? null : Math.max(atMs + (meta.delayMs ?? 0), meta.untilMs ?? 0);
  state.open.set(row.key, { phase, race: meta.race === true, dueMs });
}

function applySettled(state: RunState, kind: "STEP_COMPLETED" | "STEP_FAILED", row: LogRow): void {
  const { key } = row;
  if (state.memo.has(key)) return;
  const { meta, memo } = readStepRow(kind, row.dataJson);
  state.memo.set(key, {
    text: memo,
    signature: meta.name === undefined ? kindOf(meta.op) : `${kindOf(meta.op)} ${meta.name}`,
    isUndefined: meta.undefined === true,
  });
  state.open.delete(key);
  state.attempts.delete(key);
  state.pending.delete(key);
  state.jobs.delete(jobKey("step", key));
  state.jobs.delete(jobKey("timer", key));
  state.passAttempt = 0;
  state.losses = 0;
}

/** However it ended, a step with a body is one kind. */
function kindOf(op: string): string {
  return op === "Sleep" ? op : "StepRun";
}

function applyAttemptFailed(state: RunState, row: LogRow, atMs: number): void {
  if (state.memo.has(row.key)) return;
  const { delayMs } = readMeta<FailureMeta>(row.dataJson);
  const race = state.open.get(row.key)?.race === true;
  const planned = state.jobs.delete(jobKey("step", row.key));
  state.attempts.set(row.key, Math.max(row.attempt + 1, state.attempts.get(row.key) ?? 0));
  state.open.set(
    row.key,
    planned ? { phase: "planned", race, dueMs: null } : { phase: "retrying", race, dueMs: atMs + delayMs },
  );
  state.losses = 0;
}

function end(state: RunState, status: "COMPLETED" | "FAILED" | "CANCELLED"): void {
  state.status = status;
  state.jobs.clear();
  state.open.clear();
  state.attempts.clear();
  state.pending.clear();
}
