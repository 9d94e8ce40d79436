/** A run as decisions see it: memo, open steps, jobs, waits. Made by `fold`, never written otherwise. */
import type { JobKind, RunStatus } from "@holdfast/store";

import type { RunFlow } from "../flow/triggers.ts";
import { LazyMap, LazySet } from "./lazy-collections.ts";

/** A finished step as requests carry it: JSON text, never parsed again. */
export interface MemoStep {
  /** `{"type":"data","data":…}` or `{"type":"error","error":…}`. */
  readonly text: string;
  /** Kind and name, for the determinism check. */
  readonly signature: string;
  readonly isUndefined: boolean;
}

/** A step that was met but is not finished. */
export interface OpenStep {
  readonly phase: "planned" | "waiting" | "retrying";
  /** A pass is wanted as soon as it is done, whatever else is pending. */
  readonly race: boolean;
  /** When a waiting step is due or a retrying one may run again; null = at once. */
  readonly dueMs: number | null;
  /** How the worker reported it. */
  readonly op: string;
  /** What people call it. */
  readonly name: string | null;
  /** 0-based order in which the run's code met it; null when the worker does not say. */
  readonly ordinal: number | null;
  /** The HTTP call that the gateway makes for it, JSON text. */
  readonly call: string | null;
  /** It waits for an event that may have come before: which one. */
  readonly earlier: EarlierWait | null;
  /** Of what waits: since when. */
  readonly sinceMs?: number;
  /** Id of the step that carries what undoes this one. */
  readonly undo?: string;
}

/** An event that came since the run was made ends the wait, too. */
export interface EarlierWait {
  readonly name: string;
  readonly expression: string | null;
  /** How many steps had finished when it began: events that had ended one of these do not count again. */
  readonly finished: number;
}

/** The step of another run that waits for this one's end. */
export interface Parent {
  readonly runId: string;
  readonly key: string;
}

/** A run that goes on where another one of its function ended. */
export interface ChainLink {
  /** The first run of the chain: what waits for the end waits for this one's. */
  readonly root: string;
  /** The run before it. */
  readonly from: string;
  /** The key under which the chain is its function's singleton: that of its first run. */
  readonly singletonKey?: string;
}

/** A run of another function that is to begin when this run has ended. */
export interface Defer {
  /** `begun`: the run had ended once, which began it. */
  readonly status: "scheduled" | "aborted" | "rejected" | "begun";
  readonly functionId: string;
  /** The data of its event, JSON text; "" when it does not begin. */
  readonly inputText: string;
  /** The `meta` of its event. */
  readonly meta: object | null;
}

export interface JobState {
  readonly id: string;
  readonly kind: JobKind;
  /** "" for the pass, else the step's hashed id. */
  readonly key: string;
  readonly attempt: number;
  readonly iteration: number;
  /** Before this instant no gateway can have claimed it. */
  readonly dueMs: number;
}

/**
 * A run as its log describes it. `applyRow` alone changes it; decisions only read it. `version` is the head's: the only
 * part that is not in the log. `version` and `seq` move on as decisions are stored.
 */
export interface RunState {
  readonly runId: string;
  readonly functionId: string;
  readonly appId: string;
  /** Of the worker that started it; before that of the function as it was registered. */
  appVersion: string;
  version: number;
  /** Of the last row of its log. */
  seq: number;
  status: RunStatus;
  maxAttempts: number;
  /** The triggering event, JSON text. */
  eventText: string;
  /** The other events of a batch, parted by commas. */
  moreText: string;
  flow: RunFlow | null;
  parent: Parent | null;
  chain: ChainLink | null;
  /** Its end is no event: it was triggered by an event of such an end. */
  quiet: boolean;
  /** Keys of what it waits for from outside. */
  waits: readonly string[];
  /** Characters of its events and of the results of its steps. */
  stateLength: number;
  /** Finished steps in the order of their completion (the stack). */
  readonly memo: Map<string, MemoStep>;
  readonly open: LazyMap<string, OpenStep>;
  /** Failed attempts so far of steps that may be tried again. */
  readonly attempts: LazyMap<string, number>;
  /** Plain protocol: steps of the last parallel report that are not done; no pass before they all are. */
  readonly pending: LazySet<string>;
  /** Protocol version 1 only: set by the first parallel report, never reset. */
  forced: boolean;
  /** Passes in a row that did not ask for a step which is to be tried again. */
  missed: number;
  /** -1 until the first report said. */
  requestVersion: number;
  /** By `jobKey`. */
  readonly jobs: Map<string, JobState>;
  /** How many jobs were ever made: the number of the last one. */
  dispatches: number;
  /** Zero-based attempt of the current pass. */
  passAttempt: number;
  /**
   * By job: leases lost in a row without any progress of the run. A worker that goes takes all its jobs along, once
   * each.
   */
  readonly losses: LazyMap<string, number>;
  /**
   * Finished steps that can be undone, in the order of their completion, by the author's id or that of the step which
   * carries what undoes them: each of these once.
   */
  undoable: readonly { readonly key: string; readonly id: string }[];
  /** By hashed id, in the order in which they were reported. */
  defers: ReadonlyMap<string, Defer>;
  /** Steps that can be undone and whose body a worker has begun, as far as their outcome is not known. */
  begun: readonly string[];
  /** How often the run was taken up again after its end. Its rows since then carry this number. */
  revivals: number;
  /** When it fails if it is not over. */
  deadlineMs: number | null;
  /** How long it may take from its start. */
  finishMs: number | null;
  createdMs: number;
  /** Its deadline is its own, whatever the version says that begins it. */
  deadlineAsked: boolean;
  /** Its steps are jobs of their own, which any worker takes. */
  spreads: boolean;
}

export interface RunIdentity {
  readonly runId: string;
  readonly functionId: string;
  readonly appId: string;
  readonly appVersion: string;
  readonly version: number;
}

/** Most runs wait for nothing and undo nothing. */
const NOTHING: readonly never[] = [];
const NO_DEFERS: ReadonlyMap<string, Defer> = new Map();

export function emptyRun(identity: RunIdentity): RunState {
  return {
    // Field by field: an object of so many fields that begins with a spread is slow to make and to use.
    runId: identity.runId,
    functionId: identity.functionId,
    appId: identity.appId,
    appVersion: identity.appVersion,
    version: identity.version,
    seq: 0,
    status: "PENDING",
    maxAttempts: 1,
    eventText: "null",
    moreText: "",
    flow: null,
    parent: null,
    chain: null,
    quiet: false,
    waits: NOTHING,
    stateLength: 0,
    memo: new Map(),
    open: new LazyMap(),
    attempts: new LazyMap(),
    pending: new LazySet(),
    forced: false,
    missed: 0,
    requestVersion: -1,
    jobs: new Map(),
    dispatches: 0,
    passAttempt: 0,
    losses: new LazyMap(),
    undoable: NOTHING,
    defers: NO_DEFERS,
    begun: NOTHING,
    revivals: 0,
    deadlineMs: null,
    finishMs: null,
    createdMs: 0,
    deadlineAsked: false,
    spreads: false,
  };
}

export function jobKey(kind: JobKind, key: string): string {
  return kind === "pass" ? "pass" : `${kind}:${key}`;
}

export { DEADLINE, FINISH_TIMEOUT, isRunTimer } from "@holdfast/store";

export function isEnded(status: RunStatus): boolean {
  return status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";
}

/** Whether workers must report new steps instead of running them (`disable_immediate_execution`). */
export function forcesPlan(state: Pick<RunState, "requestVersion" | "pending" | "forced">): boolean {
  return state.requestVersion >= 2 ? state.pending.size > 0 : state.forced;
}

/** Single steps are dispatched as on the plain protocol: no pass may go on in place beside them. */
export function hasStepJobs(state: RunState): boolean {
  for (const job of state.jobs.values()) if (job.kind === "step") return true;
  return false;
}

/** What lists show of a run that goes on: something to run now or soon, or only waits. */
export function liveStatus(jobs: Iterable<JobState>, nowMs: number): RunStatus {
  for (const job of jobs) {
    if (needsWorker(job) && job.dueMs <= nowMs) return "RUNNING";
  }
  return "WAITING";
}

export function needsWorker(job: { readonly kind: JobKind }): boolean {
  return job.kind === "pass" || job.kind === "step";
}
