/** How a run looks in the API: steps, deferred runs and stalls, read from its log. Pure. */
import {
  continuedAs,
  type DeferMeta,
  deferredEventId,
  type LossMeta,
  type RevivalMeta,
  readMeta,
  readRunCreated,
  readStepRow,
  repairsIn,
  type StallMeta,
  type StepMeta,
} from "@holdfast/engine";
import { environmentOf, plainName, type RunDetail, type RunHead, type StoredLogRow } from "@holdfast/store";

import { isoTime, isoTimeOrNull } from "./iso-time.ts";
import { storedJson } from "./json-answer.ts";
import { shownEnvironment } from "./keys.ts";

/** A run in lists. Times are ISO 8601 (`...At`), and milliseconds since the epoch (`...Ms`). */
export interface RunView {
  readonly id: string;
  readonly functionId: string;
  readonly appId: string;
  readonly environment: string;
  readonly appVersion: string;
  readonly status: string;
  readonly eventId: string;
  readonly eventName: string;
  readonly output: unknown;
  readonly error: unknown;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
}

export interface StepView {
  readonly id: string;
  readonly name: string | null;
  readonly op: string;
  readonly status: "planned" | "waiting" | "retrying" | "completed" | "failed";
  /** Zero-based attempt that ended it. */
  readonly attempt: number;
  readonly failedAttempts: readonly { readonly attempt: number; readonly atMs: number; readonly error: unknown }[];
  /** As the worker measured it. */
  readonly startedMs: number | null;
  readonly durationMs: number | null;
  /** When it was planned or began to wait. */
  readonly openedMs: number | null;
  /** When the wait ends. */
  readonly dueMs: number | null;
  /** When its result was stored. */
  readonly endedMs: number | null;
  readonly output?: unknown;
  readonly error?: unknown;
  /** It ended in the run that this one was forked from. */
  readonly kept?: true;
  /** Its result was given with the fork. */
  readonly edited?: true;
}

export function runView(head: RunHead): RunView {
  const { id, functionId, appId, appVersion, status, eventId, eventName, createdMs, startedMs, endedMs } = head;
  return {
    id,
    functionId: plainName(functionId),
    appId: plainName(appId),
    environment: shownEnvironment(environmentOf(functionId)),
    appVersion,
    status,
    eventId,
    eventName,
    output: parse(head.outputJson),
    error: parse(head.errorJson),
    createdAt: isoTime(createdMs),
    startedAt: isoTimeOrNull(startedMs),
    endedAt: isoTimeOrNull(endedMs),
    createdMs,
    startedMs,
    endedMs,
  };
}

export function runDetailView(detail: RunDetail, withLog: boolean): object {
  const created = detail.log.find((row) => row.kind === "RUN_CREATED");
  const start = created ? readRunCreated(created.dataJson) : undefined;
  const repairs = repairsIn(detail.log);
  const { status } = detail.head;
  return {
    ...runView(detail.head),
    version: detail.head.version,
    event: start ? storedJson(start.eventText) : null,
    maxAttempts: start?.meta.maxAttempts ?? null,
    parent: start?.meta.parent ?? null,
    rerunOf: start?.meta.rerunOf ?? null,
    forkedFrom: start?.meta.forkedFrom ?? null,
    continuedFrom: start?.meta.chain?.from ?? null,
    continuedAs: continuedAs(detail.log),
    hold: detail.hold && { ...detail.hold, heldAt: isoTime(detail.hold.heldMs) },
    deadlineMs: detail.head.deadlineMs,
    deadlineAt: isoTimeOrNull(detail.head.deadlineMs),
    compensating: repairs.isCompensating,
    resumable: (status === "FAILED" || status === "CANCELLED") && repairs.isResumable,
    compensationsLeft: status === "FAILED" && repairs.isUndoingIncomplete,
    steps: stepViews(detail.log).map((step) => ({
      ...withIsoTimes(step),
      ...(repairs.compensations.has(step.id) ? { compensation: true } : {}),
      forkable: repairs.forkable.has(step.id),
    })),
    defers: deferViews(detail),
    stalls: stallViews(detail.log),
    commitsLost: lossViews(detail.log),
    leasesLost: detail.log.filter((row) => row.kind === "LEASE_LOST").length,
    jobs: detail.jobs,
    waits: detail.waits.map((wait) => ({ ...wait, name: plainName(wait.name) })),
    ...(withLog ? { log: detail.log.map(logView) } : {}),
  };
}

/** A run of another function that begins when this run has ended. */
export interface DeferView {
  readonly id: string;
  readonly name: string | null;
  readonly functionId: string;
  readonly status: "scheduled" | "aborted" | "rejected";
  /** Why it was rejected. */
  readonly reason: string | null;
  /** Of the event that begins it, once this run has ended. */
  readonly eventId: string | null;
}

function deferViews({ head, log }: RunDetail): DeferView[] {
  const aborted = new Set(log.filter(({ kind }) => kind === "DEFER_ABORTED").map(({ key }) => key));
  const revivedAt = log.findLastIndex(({ kind }) => kind === "RUN_REVIVED");
  return log.flatMap(({ kind, key: id, dataJson }, index) => {
    if (kind !== "DEFERRED") return [];
    const { functionId, name = null, rejected: reason = null } = readMeta<DeferMeta>(dataJson);
    const status = reason !== null ? "rejected" : aborted.has(id) ? "aborted" : "scheduled";
    // A run that was resumed had ended before.
    const begins = status === "scheduled" && (head.endedMs !== null || index < revivedAt);
    return [{ id, name, functionId, status, reason, eventId: begins ? deferredEventId(head.id, id) : null }];
  });
}

/** When the main thread of the worker that had the run did not move, and what kept it. */
export interface StallView extends StallMeta {
  readonly atMs: number;
}

function stallViews(log: readonly StoredLogRow[]): StallView[] {
  return log.flatMap(({ kind, atMs, dataJson }) =>
    kind === "STALLED" ? [{ atMs, ...readMeta<StallMeta>(dataJson) }] : [],
  );
}

/** When the database had forgotten writes of the run, how many, and how many of these are there again. */
export interface LossView extends LossMeta {
  readonly atMs: number;
}

function lossViews(log: readonly StoredLogRow[]): LossView[] {
  return log.flatMap(({ kind, atMs, dataJson }) =>
    kind === "COMMITS_LOST" ? [{ atMs, ...readMeta<LossMeta>(dataJson) }] : [],
  );
}

function logView(row: StoredLogRow): object {
  const { seq, atMs, kind, key, attempt, iteration, dataJson } = row;
  return { seq, atMs, kind, key, attempt, iteration, data: storedJson(dataJson) };
}

/** A step in the API: also with times as people write them. */
function withIsoTimes(step: StepView): object {
  const { startedMs, openedMs, dueMs, endedMs } = step;
  return {
    ...step,
    startedAt: isoTimeOrNull(startedMs),
    openedAt: isoTimeOrNull(openedMs),
    dueAt: isoTimeOrNull(dueMs),
    endedAt: isoTimeOrNull(endedMs),
  };
}

type Draft = { -readonly [K in keyof StepView]: StepView[K] } & {
  failedAttempts: StepView["failedAttempts"][number][];
};

/** The steps in the order in which the run met them. */
export function stepViews(log: readonly StoredLogRow[]): StepView[] {
  const steps = new Map<string, Draft>();
  for (const row of log) {
    switch (row.kind) {
      case "RUN_REVIVED":
        for (const key of readMeta<RevivalMeta>(row.dataJson).dropped) reopen(steps, key);
        break;
      case "STEP_PLANNED":
      case "STEP_BEGUN":
      case "STEP_WAITING":
      case "STEP_ATTEMPT_FAILED":
      case "STEP_COMPLETED":
      case "STEP_FAILED":
        applyRow(stepOf(steps, row.key), row);
        break;
      default:
    }
  }
  return [...steps.values()];
}

/** Its result no longer counts. */
function reopen(steps: Map<string, Draft>, id: string): void {
  const step = steps.get(id);
  if (!step) return;
  steps.set(id, { ...step, status: "retrying", attempt: 0, endedMs: null, durationMs: null, dueMs: null });
}

function stepOf(steps: Map<string, Draft>, id: string): Draft {
  const known = steps.get(id);
  if (known) return known;
  const step: Draft = {
    id,
    name: null,
    op: "StepRun",
    status: "planned",
    attempt: 0,
    failedAttempts: [],
    startedMs: null,
    durationMs: null,
    openedMs: null,
    dueMs: null,
    endedMs: null,
  };
  steps.set(id, step);
  return step;
}

interface StepRowData {
  readonly step?: StepMeta;
  readonly op?: string;
  readonly name?: string;
  readonly delayMs?: number;
  readonly untilMs?: number;
  readonly data?: unknown;
  readonly error?: unknown;
}

function applyRow(step: Draft, row: StoredLogRow): void {
  if (step.endedMs !== null) return;
  if (row.kind === "STEP_COMPLETED" || row.kind === "STEP_FAILED") return applyEnd(step, row, row.kind);
  const data = readMeta<StepRowData>(row.dataJson);
  const meta = data.step;
  step.name = meta?.name ?? data.name ?? step.name;
  switch (row.kind) {
    case "STEP_WAITING":
      step.op = data.op ?? step.op;
      step.status = "waiting";
      step.openedMs = row.atMs;
      step.dueMs = Math.max(row.atMs + (data.delayMs ?? 0), data.untilMs ?? 0);
      return;
    case "STEP_PLANNED":
      step.openedMs = row.atMs;
      return;
    case "STEP_BEGUN":
      step.startedMs = row.atMs;
      return;
    case "STEP_ATTEMPT_FAILED":
      step.status = "retrying";
      step.attempt = row.attempt + 1;
      step.dueMs = row.atMs + (data.delayMs ?? 0);
      step.startedMs = meta?.startedMs ?? step.startedMs;
      step.failedAttempts.push({ attempt: row.attempt, atMs: row.atMs, error: data.error });
      return;
    default:
  }
}

function applyEnd(step: Draft, { dataJson, atMs }: StoredLogRow, kind: "STEP_COMPLETED" | "STEP_FAILED"): void {
  const { meta, text } = readStepRow(kind, dataJson);
  step.name = meta.name ?? step.name;
  step.status = kind === "STEP_COMPLETED" ? "completed" : "failed";
  step.attempt = meta.attempt ?? step.attempt;
  step.startedMs = meta.startedMs ?? step.openedMs ?? step.startedMs;
  step.durationMs = meta.durationMs ?? null;
  step.endedMs = atMs;
  step.dueMs = null;
  if (meta.kept) step.kept = true;
  if (meta.edited) step.edited = true;
  if (kind === "STEP_FAILED") {
    step.error = storedJson(text);
    return;
  }
  step.output = storedJson(text);
  // It may have failed before the run was resumed.
  delete step.error;
}

function parse(json: string | null): unknown {
  return json === null ? null : storedJson(json);
}
