/** The rows of a run's log: what each kind carries, how it is written and read. */
import type { PlainError } from "@holdfast/core";
import type { Op } from "@holdfast/protocol";
import type { LogKind, LogRow, NewJob, WaitKind } from "@holdfast/store";

import type { RunFlow } from "../flow/triggers.ts";
import type { ChainLink, Parent } from "./run-state.ts";

/**
 * The JSON in the log rows, written and read here only. Large values come last under a fixed key, after fields whose
 * text cannot contain that key unescaped, so that they can be cut out without parsing.
 */

/** Of `STEP_COMPLETED` and `STEP_FAILED`, under `step`. */
export interface StepMeta {
  readonly op: string;
  readonly name?: string;
  /** Zero-based. */
  readonly attempt?: number;
  readonly startedMs?: number;
  readonly durationMs?: number;
  /** The result was the JavaScript value undefined. */
  readonly undefined?: true;
  /** 0-based order in which the run's code met the step. */
  readonly ordinal?: number;
  /** How many results the run's code had been given before this one; absent: all that were stored. */
  readonly at?: number;
  /** The step can be undone: its author's id, or that of the step which carries what undoes it. */
  readonly undo?: string;
  /** With it all other work of the run is dropped. */
  readonly clears?: true;
  /** It was finished in the run that this one was forked from. */
  readonly kept?: true;
  /** Its result was given with the fork. */
  readonly edited?: true;
}

/** Of `STEP_PLANNED` and `STEP_WAITING`. */
export interface OpenMeta {
  readonly op: string;
  readonly name?: string;
  readonly race?: true;
  /** Due this long after the row was written ... */
  readonly delayMs?: number;
  /** ... or at this instant. */
  readonly untilMs?: number;
  readonly ordinal?: number;
  /** What it waits for; `name` is the event's, the signal, or the other run's id. */
  readonly wait?: {
    readonly kind: WaitKind;
    readonly name: string;
    readonly expression?: string;
    readonly since?: "run";
  };
  /** The HTTP call that the gateway makes. */
  readonly call?: object;
  /** Id of the step that carries what undoes this one once it has completed. */
  readonly undo?: string;
}

/** Of `RUN_CREATED`, under `run`. */
export interface RunMeta {
  readonly maxAttempts: number;
  readonly parent?: Parent;
  readonly chain?: ChainLink;
  readonly quiet?: true;
  /** Keys of the events that cancel it. */
  readonly cancels?: readonly string[];
  /** From its creation, or from when its event lets it start. */
  readonly deadlineInMs?: number;
  /** It does not start before this instant. */
  readonly startMs?: number;
  /** From its start. */
  readonly finishInMs?: number;
  readonly flow?: RunFlow;
  /** The caller that asked for it has set its deadline. */
  readonly deadlineAsked?: true;
  /** Of a batch: how long its first event's text is; the others follow. */
  readonly eventLength?: number;
  /** Its steps are jobs of their own, as on the plain protocol: no pass goes on in place. */
  readonly spreads?: true;
  /** The run whose events it was made with once more. */
  readonly rerunOf?: string;
  /** The run whose finished steps it keeps, and the step from which it goes on by itself, as people call it. */
  readonly forkedFrom?: { readonly runId: string; readonly step: string };
}

/** Of `PINNED`. What is not there stays as it was made. */
export interface PinMeta {
  readonly version: string;
  readonly maxAttempts?: number;
  readonly deadlineMs?: number | null;
  readonly finishInMs?: number | null;
  /** Keys of the events that cancel it. */
  readonly cancels?: readonly string[];
}

/** Of `RUN_REVIVED`. */
export interface RevivalMeta {
  /** Steps whose results no longer count. */
  readonly dropped: readonly string[];
  /** With which version and options it goes on; left out: with those that it had. */
  readonly pin?: PinMeta;
}

/** How the run goes on after a report. */
export interface StepPlan {
  readonly requestVersion: number;
  readonly pending: readonly string[];
  readonly forced: boolean;
  /** In place: passes in a row that did not ask for a step which is to be tried again. */
  readonly missed?: number;
}

/** Of `DISPATCHED`. */
export interface DispatchedMeta {
  readonly job: string;
  readonly kind: NewJob["kind"];
  readonly delayMs?: number;
  readonly untilMs?: number;
  readonly plan?: StepPlan;
}

/** Of `COMMITS_LOST`: the database had forgotten so many writes of the run, and so many of them are there again. */
export interface LossMeta {
  readonly writes: number;
  readonly restored: number;
}

/** Of `STALLED`: the worker's main thread did not move while it had this run's work. Key: job id, iteration: epoch. */
export interface StallMeta {
  /** `blocked`: by code. `no-cpu`: the worker was given no processor; no code is to blame. Absent in rows of older gateways. */
  readonly cause?: "blocked" | "no-cpu";
  readonly stalledMs: number;
  /** How much of that the main thread waited for a processor. */
  readonly waitedMs?: number;
  /** It is responsive again. */
  readonly ended: boolean;
  readonly instanceId: string;
  /** The step whose code it was, as the author wrote it. */
  readonly stepId?: string;
  /** `file:line:column` of the blocking code. */
  readonly location?: string;
  /** The function it is in. */
  readonly codeName?: string;
  /** Innermost frame first, one a line. */
  readonly stack?: string;
  readonly leasesGivenUp?: true;
}

/** Of `DEFERRED`; key: the hashed id. `DEFER_ABORTED` has the same key and no fields. */
export interface DeferMeta {
  readonly functionId: string;
  readonly name?: string;
  /** Why it does not begin. */
  readonly rejected?: string;
  /** Data of its event. */
  readonly input?: object;
  readonly meta?: object;
}

/** Of `STEP_ATTEMPT_FAILED`. */
export interface FailureMeta {
  readonly step: StepMeta;
  readonly error: PlainError;
  /** The next attempt is due this long after the row was written. */
  readonly delayMs: number;
}

/** `more` = the other events of a batch. */
export function runCreatedRow(meta: RunMeta, eventText: string, more: readonly string[] = []): LogRow {
  if (more.length === 0) return row("RUN_CREATED", "", 0, 0, `{"run":${JSON.stringify(meta)},"event":${eventText}}`);
  const run = JSON.stringify({ ...meta, eventLength: eventText.length });
  return row("RUN_CREATED", "", 0, 0, `{"run":${run},"event":${eventText}${MORE}${more.join(",")}]}`);
}

/** First result wins: its row's number is always (0, 0), so that a second one meets it. */
export function stepCompletedRow(key: string, meta: StepMeta, dataText: string): LogRow {
  return row("STEP_COMPLETED", key, 0, 0, `{"step":${JSON.stringify(meta)},"data":${dataText}}`);
}

export function stepFailedRow(key: string, meta: StepMeta, error: PlainError): LogRow {
  return row("STEP_FAILED", key, 0, 0, `{"step":${JSON.stringify(meta)},"error":${JSON.stringify(error)}}`);
}

/** The body of a step that can be undone is about to run. */
export function begunRow(op: Op, attempt: number): LogRow {
  return jsonRow("STEP_BEGUN", op.id, attempt, 0, { step: stepMeta(op, attempt) });
}

export function jsonRow(kind: LogKind, key: string, attempt: number, iteration: number, data: object): LogRow {
  return row(kind, key, attempt, iteration, JSON.stringify(data));
}

/** The run goes on as another one. */
export function continuedRow(continuedAs: string): LogRow {
  return row("RUN_COMPLETED", "", 0, 0, `{"continuedAs":${JSON.stringify(continuedAs)},"output":null}`);
}

/** The run as which a run went on that has ended; null: it did not. */
export function continuedAs(log: readonly Pick<LogRow, "kind" | "dataJson">[]): string | null {
  const end = log.findLast(({ kind }) => kind === "RUN_COMPLETED");
  if (!end?.dataJson.startsWith('{"continuedAs":')) return null;
  return readMeta<{ continuedAs: string }>(end.dataJson).continuedAs;
}

export function completedRow(outputText: string): LogRow {
  return row("RUN_COMPLETED", "", 0, 0, `{"output":${outputText}}`);
}

function row(kind: LogKind, key: string, attempt: number, iteration: number, dataJson: string): LogRow {
  return { kind, key, attempt, iteration, dataJson };
}

/** What of an op is kept with its result. Set field by field: each step has one. */
export function stepMeta(op: Op, attempt: number, at?: number): StepMeta {
  const name = op.displayName ?? op.userland?.id ?? op.name;
  const { timing, ordinal } = op;
  const meta: { -readonly [Name in keyof StepMeta]: StepMeta[Name] } = { op: op.op };
  if (name !== undefined) meta.name = name;
  if (attempt > 0) meta.attempt = attempt;
  if (timing) {
    meta.startedMs = Math.round(timing.a / 1e6);
    meta.durationMs = Math.round(timing.b / 1e3) / 1e3;
  }
  if (op.undefinedResult) meta.undefined = true;
  if (ordinal !== undefined) meta.ordinal = ordinal;
  if (at !== undefined) meta.at = at;
  if (op.opts?.compensate === true) meta.undo = fullIdOf(op);
  return meta;
}

/** The author's id, with the number that distinguishes repeats in one run. */
function fullIdOf(op: Op): string {
  const { id, index = 0 } = op.userland ?? { id: op.name ?? op.id };
  return index === 0 ? id : `${id}:${index}`;
}

const DATA = ',"data":';
const ERROR = ',"error":';
const EVENT = ',"event":';
const MORE = ',"more":[';
const STEP = '{"step":';

/** Of rows of steps that have ended. */
export type SettledKind = "STEP_COMPLETED" | "STEP_FAILED";

/**
 * Splits a `STEP_COMPLETED` or `STEP_FAILED` row into its fields, the memo entry of requests, and the text of the
 * result.
 */
export function readStepRow(kind: SettledKind, dataJson: string): { meta: StepMeta; memo: string; text: string } {
  const field = kind === "STEP_COMPLETED" ? DATA : ERROR;
  const at = dataJson.indexOf(field);
  const meta = JSON.parse(dataJson.slice(STEP.length, at)) as StepMeta;
  return { meta, memo: memoAt(kind, dataJson, at), text: dataJson.slice(at + field.length, -1) };
}

/** The memo entry alone, of a row whose fields are known. */
export const memoOf = (kind: SettledKind, dataJson: string): string =>
  memoAt(kind, dataJson, dataJson.indexOf(kind === "STEP_COMPLETED" ? DATA : ERROR));

const memoAt = (kind: SettledKind, dataJson: string, at: number): string =>
  `{"type":"${kind === "STEP_COMPLETED" ? "data" : "error"}"${dataJson.slice(at)}`;

/** No text inside the fields can hold the key unescaped, so the first one found is the event's. */
export function readRunCreated(dataJson: string): { meta: RunMeta; eventText: string; moreText: string } {
  const at = dataJson.indexOf(EVENT);
  const meta = JSON.parse(dataJson.slice('{"run":'.length, at)) as RunMeta;
  const start = at + EVENT.length;
  if (meta.eventLength === undefined) return { meta, eventText: dataJson.slice(start, -1), moreText: "" };
  const end = start + meta.eventLength;
  return { meta, eventText: dataJson.slice(start, end), moreText: dataJson.slice(end + MORE.length, -2) };
}

export function readMeta<Meta>(dataJson: string): Meta {
  return JSON.parse(dataJson) as Meta;
}
