/**
 * Rate limits, singletons and windows: whether a run or event passes, and what its row becomes. Pure; the stores lock
 * and write the rows.
 */
import {
  type FlowRule,
  MAX_BATCH_LENGTH,
  type SkippedBy,
  type WindowEntry,
  type WindowKey,
  windowKeyText,
} from "../port/events.ts";
import type { NewJob } from "../port/work.ts";

/** The row of a flow rule while a batch is planned. */
export interface FlowRuleState {
  readonly functionId: string;
  readonly kind: string;
  readonly key: string;
  count: number;
  atMs: number;
  runId: string;
  data: string;
  dueMs: number | null;
  /** Infinity = as long as it is. */
  expiresMs: number;
  /** `run_id` is a run that has not ended. */
  live: boolean;
  changed: boolean;
}

export interface FlowRuleKey {
  readonly functionId: string;
  readonly kind: string;
  readonly key: string;
}

export type FlowRules = Map<string, FlowRuleState>;

export const flowRuleKeyOf = ({ functionId, kind, key }: FlowRuleKey): string => `${functionId}\n${kind}\n${key}`;

export const eventKeyOf = (name: string, key: string): string => `${name}\n${key}`;

export const keyOfFlowRule = (flowRule: FlowRule): FlowRuleKey => ({
  functionId: flowRule.functionId,
  kind: flowRule.type === "rate" ? flowRule.name : "single",
  key: flowRule.key,
});

const HOUR_MS = 3_600_000;

interface PassedFlowRules {
  /** Null: it may be made. */
  readonly skippedBy: SkippedBy | null;
  readonly jobs: readonly NewJob[];
}

/** Whether a run may be made; if so its flow rules are marked, and the jobs that cancel another run for it returned. */
export function passFlowRules(
  flowRules: FlowRules,
  wanted: readonly FlowRule[],
  runId: string,
  atMs: number,
): PassedFlowRules {
  const states = wanted.map((flowRule) => ({ flowRule, state: stateOf(flowRules, keyOfFlowRule(flowRule)) }));
  const blocked = states.find(({ flowRule, state }) =>
    flowRule.type === "rate"
      ? rateCount(state, flowRule.periodMs, atMs) >= flowRule.limit
      : flowRule.continues === undefined && flowRule.mode === "skip" && state.live,
  );
  if (blocked) return { skippedBy: skippedBy(blocked.flowRule, blocked.state), jobs: [] };
  const jobs: NewJob[] = [];
  for (const { flowRule, state } of states) {
    // Another run has the place already, and cancels this one.
    if (isLate(flowRule, state)) continue;
    state.changed = true;
    if (flowRule.type === "rate") {
      const count = rateCount(state, flowRule.periodMs, atMs);
      if (count === 0) state.atMs = atMs;
      state.count = count + 1;
      state.expiresMs = state.atMs + flowRule.periodMs;
    } else {
      if (state.live && flowRule.continues === undefined)
        jobs.push(looseJob(flowRule.jobId, "cancel", `${state.runId}\n${runId}`));
      state.runId = runId;
      state.live = true;
      state.expiresMs = atMs + HOUR_MS;
    }
  }
  return { skippedBy: null, jobs };
}

function skippedBy(flowRule: FlowRule, { runId }: FlowRuleState): SkippedBy {
  const { functionId, shown = null } = flowRule;
  return flowRule.type === "rate"
    ? { functionId, rule: flowRule.name, runId: null, shown }
    : { functionId, rule: "single", runId, shown };
}

function isLate(flowRule: FlowRule, { live, runId }: FlowRuleState): boolean {
  return flowRule.type === "single" && flowRule.continues !== undefined && live && runId !== flowRule.continues;
}

function rateCount(state: FlowRuleState, periodMs: number, atMs: number): number {
  return state.count > 0 && atMs < state.atMs + periodMs ? state.count : 0;
}

/** Puts an event into its window; returns the jobs that make runs of windows. */
export function joinWindow(
  flowRules: FlowRules,
  entry: WindowEntry,
  event: { id: string; length: number },
  atMs: number,
): NewJob[] {
  const state = stateOf(flowRules, entry);
  state.changed = true;
  const jobs: NewJob[] = [];
  const [windowId, fullId] = entry.jobIds;
  if (entry.kind === "batch" && state.runId !== "" && lengthOf(state) + event.length > MAX_BATCH_LENGTH) {
    jobs.push(closeBatch(flowRules, state, entry, fullId, atMs));
  }
  if (state.runId === "") {
    const waitMs = Math.min(entry.periodMs, entry.timeoutMs ?? entry.periodMs);
    Object.assign(state, { runId: windowId, count: 0, atMs, data: "0", dueMs: atMs + waitMs, expiresMs: Infinity });
    jobs.push({ ...looseJob(windowId, "window", windowKeyText(entry, windowId)), delayMs: waitMs });
  }
  state.count += 1;
  if (entry.kind === "debounce") {
    state.data = `0 ${event.id}`;
    const latestMs = entry.timeoutMs === null ? Infinity : state.atMs + entry.timeoutMs;
    state.dueMs = Math.min(atMs + entry.periodMs, latestMs);
    return jobs;
  }
  const [, ...ids] = state.data.split(" ");
  state.data = [lengthOf(state) + event.length, ...ids, event.id].join(" ");
  if (state.count >= entry.maxSize) jobs.push(closeBatch(flowRules, state, entry, fullId, atMs));
  return jobs;
}

const lengthOf = (state: FlowRuleState): number => Number(state.data.split(" ")[0]);

/** A full batch waits under its own name; its place is free for the next one. */
function closeBatch(
  flowRules: FlowRules,
  state: FlowRuleState,
  { functionId }: WindowEntry,
  jobId: string,
  atMs: number,
): NewJob {
  const full: WindowKey = { functionId, kind: "full", key: state.runId };
  flowRules.set(flowRuleKeyOf(full), { ...state, ...full, dueMs: atMs, changed: true });
  const job = looseJob(jobId, "window", windowKeyText(full, state.runId));
  reset(state, atMs);
  return job;
}

/** Whether the window is still what was read, and due; if so it is over. */
export function takeWindow(
  flowRules: FlowRules,
  wanted: WindowKey & { id: string; count: number },
  atMs: number,
): boolean {
  const state = flowRules.get(flowRuleKeyOf(wanted));
  if (!state || state.runId !== wanted.id || state.count !== wanted.count) return false;
  if (wanted.kind === "debounce" && (state.dueMs ?? 0) > atMs) return false;
  reset(state, atMs);
  return true;
}

function reset(state: FlowRuleState, atMs: number): void {
  Object.assign(state, { runId: "", count: 0, data: "", dueMs: null, expiresMs: atMs, changed: true });
}

function stateOf(flowRules: FlowRules, key: FlowRuleKey): FlowRuleState {
  const known = flowRules.get(flowRuleKeyOf(key));
  if (!known) throw new Error(`The flow rule ${flowRuleKeyOf(key)} was not locked`);
  return known;
}

/** A job of no run, for any gateway. */
function looseJob(id: string, kind: NewJob["kind"], key: string): NewJob {
  return { id, runId: "", kind, key, functionId: "", attempt: 0, iteration: 0 };
}
