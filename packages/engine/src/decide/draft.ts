/**
 * A decision while it is being made: the rows, jobs and waits so far, and what of the state they change. `finish` turns
 * it into a `Decision`.
 */
import { backoffDelayMs } from "@holdfast/core";
import type { HeadPatch, LogRow, NewJob, NewWait } from "@holdfast/store";

import { openStepOf, stepJobKeys } from "../run/fold.ts";
import { LazyMap, LazySet } from "../run/lazy-collections.ts";
import { type DispatchedMeta, jsonRow, type OpenMeta, type StepPlan } from "../run/log-rows.ts";
import { isRunTimer, type JobState, jobKey, liveStatus, type OpenStep, type RunState } from "../run/run-state.ts";
import { FAILURE_KEY, isCompensating } from "../run/saga.ts";
import type { DecideContext } from "./input.ts";
import type { InternalEvent } from "./internal-events.ts";

/** What is to be written: one transition, under the version of the state it was made from. */
export interface Decision {
  readonly log: readonly LogRow[];
  readonly head: HeadPatch;
  readonly removeJobs: readonly string[] | "all";
  readonly addJobs: readonly NewJob[];
  readonly removeWaits: readonly string[] | "all";
  readonly addWaits: readonly NewWait[];
  /** Events that happen with it. */
  readonly events: readonly InternalEvent[];
  /** Functions that it would have invoked had they been known. */
  readonly unknownFunctions: readonly string[];
  /** The run had ended, and goes on. */
  readonly revives?: true;
}

/** A decision in the making: the state as it was, and what changes. */
export interface Draft {
  readonly state: RunState;
  readonly ctx: DecideContext;
  readonly log: LogRow[];
  readonly jobs: Map<string, JobState>;
  readonly removed: string[];
  readonly added: NewJob[];
  readonly settled: LazySet<string>;
  readonly opened: LazyMap<string, OpenStep>;
  readonly pending: LazySet<string>;
  readonly waits: LazySet<string>;
  readonly addedWaits: NewWait[];
  readonly removedWaits: string[];
  events: InternalEvent[];
  readonly unknownFunctions: string[];
  defers: RunState["defers"];
  requestVersion: number;
  forced: boolean;
  missed: number;
  dispatches: number;
  /** The job whose report is decided on. */
  reported: JobState | null;
  head: HeadPatch | null;
  /** The decision gave up everything to undo what was done: nothing may be added to it. */
  undoing: boolean;
  /** Nothing was reported of the run yet: a timer that comes first does not make it start. */
  unstarted: boolean;
}

export function draftOf(state: RunState, ctx: DecideContext): Draft {
  return {
    state,
    ctx,
    log: [],
    jobs: new Map(state.jobs),
    removed: [],
    added: [],
    settled: new LazySet(),
    opened: new LazyMap(),
    pending: new LazySet<string>().addAll(state.pending),
    waits: new LazySet<string>().addAll(state.waits),
    addedWaits: [],
    removedWaits: [],
    events: [],
    unknownFunctions: [],
    defers: state.defers,
    requestVersion: state.requestVersion,
    forced: state.forced,
    missed: state.missed,
    dispatches: state.dispatches,
    reported: null,
    head: null,
    undoing: false,
    unstarted: false,
  };
}

/** Nothing more is to be decided on: the run is over, or begins to undo. */
export const isClosed = (draft: Draft): boolean => draft.head !== null || draft.undoing;

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
  for (const name of stepJobKeys(draft.jobs, stepId)) dropJob(draft, name);
  dropWait(draft, stepId);
  return race || draft.pending.size === 0;
}

export function dropWait(draft: Draft, key: string): void {
  if (!draft.waits.delete(key)) return;
  const fresh = draft.addedWaits.findIndex((wait) => wait.key === key);
  if (fresh >= 0) draft.addedWaits.splice(fresh, 1);
  else draft.removedWaits.push(key);
}

export function open(draft: Draft, kind: "STEP_PLANNED" | "STEP_WAITING", stepId: string, meta: OpenMeta): void {
  draft.log.push(jsonRow(kind, stepId, 0, 0, meta));
  const dueMs = kind === "STEP_PLANNED" ? null : Math.max(draft.ctx.nowMs + (meta.delayMs ?? 0), meta.untilMs ?? 0);
  const phase = kind === "STEP_PLANNED" ? "planned" : "waiting";
  draft.opened.set(stepId, openStepOf(meta, phase, dueMs, draft.state.memo.size));
}

/**
 * Why a run of this size cannot go on; null when it can. What undoes a run's steps is let through: it is bounded by how
 * many they are.
 */
export function sizeProblem(
  state: RunState,
  { maxSteps, maxStateLength }: Pick<DecideContext, "maxSteps" | "maxStateLength">,
  steps: number,
  added: readonly LogRow[],
): string | null {
  if (isCompensating(state)) return null;
  let length = state.stateLength;
  for (const { kind, key, dataJson } of added) {
    // The handler has failed: what it comes with is to be undone as well.
    if (key === FAILURE_KEY) return null;
    if (kind === "STEP_COMPLETED" || kind === "STEP_FAILED") length += dataJson.length;
  }
  if (steps > maxSteps) return `The run has more than ${maxSteps} steps: split the work over several runs.`;
  if (length <= maxStateLength) return null;
  return `The run's events and step results have ${length} characters; the limit is ${maxStateLength}. Keep large data elsewhere and return references, or split the work over several runs.`;
}

export interface JobDraft {
  readonly kind: NewJob["kind"];
  readonly key: string;
  readonly attempt: number;
  readonly delayMs?: number;
  readonly untilMs?: number;
}

export function dispatch(draft: Draft, job: JobDraft): void {
  const { kind, key, attempt, delayMs, untilMs } = job;
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
    functionId: queueOf(kind, draft.state.functionId),
    attempt,
    iteration,
    ...(delayMs ? { delayMs } : {}),
    ...(untilMs ? { notBeforeMs: untilMs } : {}),
  });
}

/** Calls that the gateway makes have a queue of their own, so that slow ones hold up nothing else. */
export const FETCH_QUEUE = "holdfast/fetch";

/** So have jobs that gateways of the version before do not know, or would not do right. */
export const NEWER_QUEUE = "holdfast/newer";

/** Makes a job of no run: the wait may end, and the run, before it is done. */
export function lookForEarlier({ added, ctx, state }: Draft, stepId: string): void {
  const key = `${state.runId} ${stepId}`;
  const numbers = { attempt: 0, iteration: 0 };
  added.push({ id: ctx.newId(), runId: "", kind: "earlier", key, functionId: NEWER_QUEUE, ...numbers });
}

function queueOf(kind: NewJob["kind"], functionId: string): string {
  if (kind === "fetch") return FETCH_QUEUE;
  return kind === "timer" ? "" : functionId;
}

export function dropJob(draft: Draft, key: string): void {
  const job = draft.jobs.get(key);
  if (!job) return;
  draft.jobs.delete(key);
  const fresh = draft.added.findIndex((one) => one.id === job.id);
  if (fresh >= 0) draft.added.splice(fresh, 1);
  else draft.removed.push(job.id);
}

/** What we know of the database's time may be behind by this; a job that is due within it may have been claimed. */
const CLAIM_MARGIN_MS = 1000;

/**
 * Sees to it that a pass is made after `delayMs`. While one may be running no second one is made; one that is due later
 * than wanted, and therefore not running, is brought forward.
 */
export function ensurePass(draft: Draft, delayMs = 0, attempt = 0): void {
  const { latestMs } = draft.ctx;
  const current = draft.jobs.get("pass");
  if (current) {
    if (current.dueMs <= latestMs + Math.max(CLAIM_MARGIN_MS, delayMs)) return;
    dropJob(draft, "pass");
  }
  dispatch(draft, { kind: "pass", key: "", attempt, ...(delayMs > 0 ? { delayMs } : {}) });
}

export function retryDelayMs(draft: Draft, attempt: number, retryAfterMs: number | undefined): number {
  return retryAfterMs ?? backoffDelayMs(draft.ctx.retry, attempt + 1, draft.ctx.random);
}

const NOTHING: readonly never[] = [];

/** Closes the draft. A run that goes on always has a job, and a reported job always leaves a row that ends it. */
export function finish(draft: Draft): Decision {
  const { unknownFunctions } = draft;
  // Functions that a step began to invoke in the same report: the run is at its end, and nothing would be notified of
  // them.
  const isForNothing = ({ invokes }: InternalEvent): boolean => invokes !== null && invokes.continues === undefined;
  const invoked = isClosed(draft) && draft.events.some(isForNothing);
  const events = invoked ? draft.events.filter((event) => !isForNothing(event)) : draft.events;
  if (draft.head) {
    const removeWaits = draft.state.waits.length > 0 ? "all" : NOTHING;
    const addJobs = childJobs(draft);
    const log = rowsOf(draft);
    const { head } = draft;
    return { log, head, removeJobs: "all", addJobs, removeWaits, addWaits: NOTHING, events, unknownFunctions };
  }
  if (!hasOwnJob(draft)) ensurePass(draft);
  const { reported } = draft;
  if (reported && !draft.jobs.has(jobKey(reported.kind, reported.key)) && !isEndedByRow(draft, reported)) {
    const plan = reported.kind === "pass" ? changedPlan(draft) : undefined;
    draft.log.push(jsonRow("PASS_REPORTED", reported.key, reported.attempt, reported.iteration, plan ? { plan } : {}));
  }
  const status = draft.unstarted ? draft.state.status : liveStatus(draft.jobs.values(), draft.ctx.nowMs);
  return {
    log: rowsOf(draft),
    head: { status },
    removeJobs: draft.removed,
    addJobs: draft.added,
    removeWaits: draft.removedWaits,
    addWaits: draft.addedWaits,
    events,
    unknownFunctions,
  };
}

/** Beside those that end the run when it takes too long. */
function hasOwnJob({ jobs }: Draft): boolean {
  for (const { key } of jobs.values()) if (!isRunTimer(key)) return true;
  return false;
}

const OWN_NUMBERS: ReadonlySet<string> = new Set(["DISPATCHED", "PASS_FAILED", "PASS_REPORTED", "RUN_REVIVED"]);

/** After a revival rows of the run and its steps carry its number, so that they meet none from before. */
export function numbered(log: readonly LogRow[], revivals: number): LogRow[] {
  return log.map((row) => (OWN_NUMBERS.has(row.kind) ? row : { ...row, iteration: revivals }));
}

function rowsOf({ log, state }: Draft): readonly LogRow[] {
  return state.revivals === 0 ? log : numbered(log, state.revivals);
}

/** Who waits for the run's end hears of it through a job, so that it cannot be forgotten. */
function childJobs({ state, ctx, events }: Draft): readonly NewJob[] {
  if (!state.parent || events.some(({ invokes }) => invokes?.continues !== undefined)) return NOTHING;
  const numbers = { attempt: 0, iteration: 0 };
  // What waits for a chain waits for the end of its first run, by its name: gateways of before would not find it.
  const functionId = state.chain === null ? "" : NEWER_QUEUE;
  return [{ id: ctx.newId(), runId: "", kind: "child", key: state.runId, functionId, ...numbers }];
}

/** A step's job ends with any row about its step's outcome. */
function isEndedByRow(draft: Draft, job: JobState): boolean {
  if (job.kind !== "step") return false;
  return (
    draft.settled.has(job.key) || draft.log.some((row) => row.key === job.key && row.kind === "STEP_ATTEMPT_FAILED")
  );
}

function changedPlan(draft: Draft): StepPlan | undefined {
  const { state, settled, requestVersion, forced, pending, missed } = draft;
  let before = 0;
  let same = true;
  for (const id of state.pending) {
    if (settled.has(id)) continue;
    before += 1;
    same &&= pending.has(id);
  }
  same &&= before === pending.size;
  if (same && requestVersion === state.requestVersion && forced === state.forced && missed === state.missed) {
    return undefined;
  }
  return { requestVersion, forced, pending: [...pending], ...(missed > 0 ? { missed } : {}) };
}
