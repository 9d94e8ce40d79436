/**
 * Builds the rows, jobs and waits with which a run begins. `Starter` decides which runs; here is what each consists of.
 */
import {
  announcesEnd,
  cancelWaits,
  DEADLINE,
  type DispatchedMeta,
  type EventReader,
  FINISH_TIMEOUT,
  type InternalEvent,
  jsonRow,
  type RunMeta,
  runCreatedRow,
  type Start,
  type TriggerEvent,
} from "@holdfast/engine";
import type { GraphRunMark, IntakeRun, LogRow, NewJob, NewRun, NewWait } from "@holdfast/store";

import type { KnownFunction } from "../registry/functions.ts";

export interface NewRunOptions {
  readonly fn: KnownFunction;
  readonly event: TriggerEvent;
  readonly reader: EventReader;
  /** How it is held back. */
  readonly start: Start;
  /** Payloads of the other events of a batch. */
  readonly more: readonly string[];
  /** Not before this instant. */
  readonly startMs: number | null;
  /** Set when a step invokes the function. */
  readonly invokes: InternalEvent["invokes"];
  /** Of its first pass. */
  readonly lease: NonNullable<NewJob["lease"]> | null;
  readonly newId: () => string;
  readonly runId: string;
  /** Set when it is made of another run. */
  readonly origin?: RunOrigin | undefined;
  readonly graph?: GraphRunMark | undefined;
  readonly spreads?: boolean | undefined;
  /** It belongs to this version of its app from the beginning, instead of to the newest that is connected. */
  readonly appVersion?: string | undefined;
  /** The deadline of `fn` is one that the caller has set. */
  readonly deadlineAsked?: boolean;
}

/** Of a run that is made of another one: which, what it has of it, and its own id where that is not up to chance. */
export interface RunOrigin {
  readonly runId: string;
  readonly meta: Pick<RunMeta, "rerunOf" | "forkedFrom">;
  /** Facts that follow its creation. */
  readonly kept: readonly LogRow[];
}

/** Set field by field here: a gateway makes thousands of them a second. */
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const NO_WAITS: readonly never[] = [];

/** Everything that a run has from the beginning: its first rows, its first pass, its timers, what cancels it. */
export function newRun(options: NewRunOptions): IntakeRun {
  const { fn, event, reader, start, more, startMs, invokes, lease, newId, runId, origin, appVersion } = options;
  const waits =
    fn.cancelRules.length === 0
      ? NO_WAITS
      : cancelWaits(
          { runId, functionId: fn.id },
          fn.cancelRules,
          (condition, of) => reader.match(condition, of),
          reader.nowMs,
        );
  const meta = metaOf(options, waits);
  const created = runCreatedRow(meta, event.payloadJson, more);
  const firstIteration = appVersion === undefined ? 1 : BEGUN_ITERATION;
  const pass = dueAfter(firstPass(options, firstIteration), 0, startMs);
  const jobs: NewJob[] = [pass];
  const log: LogRow[] = origin ? [created, ...origin.kept, dispatchedRow(pass)] : [created, dispatchedRow(pass)];
  const addTimer = (key: string, delayMs: number): void => {
    const iteration = firstIteration + jobs.length;
    const timer = { id: newId(), runId, kind: "timer" as const, key, functionId: "", attempt: 0, iteration };
    const job = dueAfter(timer, delayMs, startMs);
    jobs.push(job);
    log.push(dispatchedRow(job));
  };
  if (fn.deadlineInMs !== null) addTimer(DEADLINE, fn.deadlineInMs);
  if (fn.finishInMs !== null) addTimer(FINISH_TIMEOUT, fn.finishInMs);
  // A chain has started long ago.
  const timeout = lease || invokes?.continues ? null : startTimeout(options, pass);
  if (timeout) jobs.push(timeout);
  const run: Mutable<NewRun> = {
    id: runId,
    functionId: fn.id,
    appId: fn.appId,
    appVersion: appVersion ?? fn.appVersion,
    eventId: event.id,
    eventName: event.name,
  };
  if (origin) run.origin = originOf(origin);
  if (options.graph) run.graph = options.graph;
  if (fn.deadlineInMs !== null) run.deadlineMs = Math.max(reader.nowMs, startMs ?? 0) + fn.deadlineInMs;
  const made: Mutable<IntakeRun> = { run, log, jobs };
  if (waits.length > 0) made.waits = waits;
  if (start.flowRules.length > 0) made.flowRules = start.flowRules;
  return made;
}

/** A new job is due so long after the run may begin. */
function dueAfter(job: Mutable<NewJob>, delayMs: number, startMs: number | null): NewJob {
  if (delayMs > 0) job.delayMs = delayMs;
  if (startMs) job.notBeforeMs = startMs + delayMs;
  return job;
}

function dispatchedRow({ id, kind, key, iteration, delayMs, notBeforeMs }: NewJob): LogRow {
  const meta: Mutable<DispatchedMeta> = { job: id, kind };
  if (delayMs !== undefined) meta.delayMs = delayMs;
  if (notBeforeMs != null) meta.untilMs = notBeforeMs;
  return jsonRow("DISPATCHED", key, 0, iteration, meta);
}

function metaOf(options: NewRunOptions, waits: readonly NewWait[]): RunMeta {
  const { fn, event, start, startMs, invokes, origin } = options;
  const meta: Mutable<RunMeta> = { maxAttempts: fn.maxAttempts };
  if (invokes?.parent) meta.parent = invokes.parent;
  if (invokes?.continues) meta.chain = invokes.continues.chain;
  if (announcesEnd(event.name) || invokes?.continues?.quiet) meta.quiet = true;
  if (waits.length > 0) meta.cancels = waits.map(({ key }) => key);
  if (fn.deadlineInMs !== null) {
    meta.deadlineInMs = fn.deadlineInMs;
    if (startMs) meta.startMs = startMs;
  }
  if (fn.finishInMs !== null) meta.finishInMs = fn.finishInMs;
  if (start.flow) meta.flow = start.flow;
  if (origin) Object.assign(meta, origin.meta);
  if (options.deadlineAsked) meta.deadlineAsked = true;
  if (options.spreads) meta.spreads = true;
  return meta;
}

function firstPass({ fn, start, lease, newId, runId }: NewRunOptions, iteration: number): Mutable<NewJob> {
  const { flow, lane } = start;
  const job: Mutable<NewJob> = {
    id: newId(),
    runId,
    kind: "pass",
    key: "",
    functionId: fn.id,
    attempt: 0,
    iteration,
  };
  if (flow?.priority) job.priority = flow.priority;
  if (lane) job.lane = lane;
  if (lease) job.lease = lease;
  return job;
}

function originOf({ meta: { rerunOf, forkedFrom } }: RunOrigin): NonNullable<NewRun["origin"]> {
  if (forkedFrom) return { runId: forkedFrom.runId, kind: "fork", step: forkedFrom.step };
  return { runId: rerunOf ?? "", kind: "rerun", step: null };
}

/** Of the first pass of a run that belongs to its version: where work is placed it counts as one that has begun. */
const BEGUN_ITERATION = 2;

/** Cancels the run if no worker has started its first pass by then. */
function startTimeout({ fn, startMs, newId }: NewRunOptions, pass: NewJob): NewJob | null {
  const { startTimeoutMs } = fn.settings;
  if (startTimeoutMs === null) return null;
  const due = startMs ? { notBeforeMs: startMs + startTimeoutMs } : { delayMs: startTimeoutMs };
  const { runId, id: key } = pass;
  return { id: newId(), runId, kind: "start", key, functionId: "", attempt: 0, iteration: 0, ...due };
}
