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
import type { GraphRunMark, IntakeRun, LogRow, NewJob, NewRun } from "@holdfast/store";

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
  readonly origin?: RunOrigin;
  readonly graph?: GraphRunMark;
  readonly spreads?: boolean;
  /** It belongs to this version of its app from the beginning, instead of to the newest that is connected. */
  readonly appVersion?: string;
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

/** Everything that a run has from the beginning: its first rows, its first pass, its timers, what cancels it. */
export function newRun(options: NewRunOptions): IntakeRun {
  const { fn, event, reader, start, more, startMs, invokes, lease, newId, runId, origin, appVersion } = options;
  const { nowMs } = reader;
  const jobs: NewJob[] = [];
  const firstIteration = appVersion === undefined ? 1 : BEGUN_ITERATION;
  const log: IntakeRun["log"][number][] = [];
  const add = (kind: "pass" | "timer", key: string, delayMs: number): void => {
    const id = newId();
    const iteration = firstIteration + jobs.length;
    const due = { ...(delayMs > 0 ? { delayMs } : {}), ...(startMs ? { untilMs: startMs + delayMs } : {}) };
    const notBefore = startMs ? { notBeforeMs: startMs + delayMs } : {};
    const wait = delayMs > 0 ? { delayMs } : {};
    const job = { id, runId, kind, key, attempt: 0, iteration, ...wait, ...notBefore };
    jobs.push(kind === "pass" ? { ...job, functionId: fn.id, ...passOf(start, lease) } : { ...job, functionId: "" });
    log.push(jsonRow("DISPATCHED", key, 0, iteration, { job: id, kind, ...due } satisfies DispatchedMeta));
  };
  add("pass", "", 0);
  if (fn.deadlineInMs !== null) add("timer", DEADLINE, fn.deadlineInMs);
  if (fn.finishInMs !== null) add("timer", FINISH_TIMEOUT, fn.finishInMs);
  const waits = cancelWaits(
    { runId, functionId: fn.id },
    fn.cancelRules,
    (condition) => reader.match(condition),
    nowMs,
  );
  const meta: RunMeta = {
    maxAttempts: fn.maxAttempts,
    ...(invokes?.parent ? { parent: invokes.parent } : {}),
    ...(invokes?.continues ? { chain: invokes.continues.chain } : {}),
    ...(announcesEnd(event.name) || invokes?.continues?.quiet ? { quiet: true } : {}),
    ...(waits.length > 0 ? { cancels: waits.map(({ key }) => key) } : {}),
    ...(fn.deadlineInMs === null ? {} : { deadlineInMs: fn.deadlineInMs }),
    ...(fn.deadlineInMs === null || !startMs ? {} : { startMs }),
    ...(fn.finishInMs === null ? {} : { finishInMs: fn.finishInMs }),
    ...(start.flow ? { flow: start.flow } : {}),
    ...origin?.meta,
    ...(options.deadlineAsked ? { deadlineAsked: true } : {}),
    ...(options.spreads ? { spreads: true } : {}),
  };
  // A chain has started long ago.
  if (!lease && !invokes?.continues) jobs.push(...startTimeout(options, jobs[0]));
  return {
    run: {
      id: runId,
      functionId: fn.id,
      appId: fn.appId,
      appVersion: appVersion ?? fn.appVersion,
      eventId: event.id,
      eventName: event.name,
      ...(origin ? { origin: originOf(origin) } : {}),
      ...(options.graph ? { graph: options.graph } : {}),
      ...(fn.deadlineInMs === null ? {} : { deadlineMs: Math.max(nowMs, startMs ?? 0) + fn.deadlineInMs }),
    },
    log: [runCreatedRow(meta, event.payloadJson, more), ...(origin?.kept ?? []), ...log],
    jobs,
    ...(waits.length > 0 ? { waits } : {}),
    ...(start.flowRules.length > 0 ? { flowRules: start.flowRules } : {}),
  };
}

function originOf({ meta: { rerunOf, forkedFrom } }: RunOrigin): NonNullable<NewRun["origin"]> {
  if (forkedFrom) return { runId: forkedFrom.runId, kind: "fork", step: forkedFrom.step };
  return { runId: rerunOf ?? "", kind: "rerun", step: null };
}

/** Of the first pass of a run that belongs to its version: where work is placed it counts as one that has begun. */
const BEGUN_ITERATION = 2;

function passOf({ flow, lane }: Start, lease: NewRunOptions["lease"]): Partial<NewJob> {
  return {
    ...(flow?.priority ? { priority: flow.priority } : {}),
    ...(lane ? { lane } : {}),
    ...(lease ? { lease } : {}),
  };
}

/** Cancels the run if no worker has started its first pass by then. */
function startTimeout({ fn, startMs, newId }: NewRunOptions, pass: NewJob | undefined): NewJob[] {
  const { startTimeoutMs } = fn.settings;
  if (startTimeoutMs === null || !pass) return [];
  const due = startMs ? { notBeforeMs: startMs + startTimeoutMs } : { delayMs: startTimeoutMs };
  const { runId, id: key } = pass;
  return [{ id: newId(), runId, kind: "start", key, functionId: "", attempt: 0, iteration: 0, ...due }];
}
