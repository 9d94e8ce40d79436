/**
 * What a log says about going on from within it: the prefix that a fork keeps, and the results that a resumed run drops
 * (docs/decisions/0081). Pure; both read the log alone.
 */
import { isRecord } from "@holdfast/protocol";
import type { LogRow } from "@holdfast/store";

import { sha1Hex } from "../digest.ts";
import {
  type DeferMeta,
  jsonRow,
  type OpenMeta,
  type RevivalMeta,
  readMeta,
  readStepRow,
  type StepMeta,
  stepCompletedRow,
} from "./log-rows.ts";
import { placeLast } from "./result-places.ts";
import { compensationKey, FAILURE_KEY } from "./saga.ts";
import { isParkedOp } from "./step-ops.ts";

type SettledKind = "STEP_COMPLETED" | "STEP_FAILED";

interface Settled {
  readonly kind: SettledKind;
  readonly dataJson: string;
}

/** Steps and deferred runs that are on record at one place of a log. */
interface Place {
  readonly settled: Map<string, Settled>;
  readonly deferred: Map<string, DeferMeta>;
}

/** What the log says of one step, from all its rows. */
interface StepRecord {
  op: string;
  name: string | undefined;
  ordinal: number | undefined;
  undo: string | undefined;
}

/** What was read of a whole log. */
export interface ReadLog {
  /** As it is at the end. */
  readonly end: Place;
  /** As it was when each step appeared first: only for the wanted one. */
  readonly before: Place | null;
  readonly steps: ReadonlyMap<string, StepRecord>;
  /** Keys of all steps that would undo others, and of the one that begins it: no steps of the code. */
  readonly compensations: ReadonlySet<string>;
  /** Compensations that have begun, whatever came of them; and the step that begins them, `FAILURE_KEY`. */
  readonly undoing: ReadonlySet<string>;
  /** Of these the ones that have succeeded. */
  readonly undone: ReadonlySet<string>;
  /** Failed steps that nothing new followed in the log. */
  readonly lastFailed: readonly string[];
  readonly failure: unknown;
}

/** `wanted` = the key of the step whose first appearance is asked for. */
export function readLog(log: readonly LogRow[], wanted: string | null): ReadLog {
  const end: Place = { settled: new Map(), deferred: new Map() };
  let before: Place | null = null;
  const steps = new Map<string, StepRecord>();
  const undoing = new Set<string>();
  const undone = new Set<string>();
  const compensations = new Set([FAILURE_KEY]);
  let lastFailed: string[] = [];
  let failure: unknown = null;
  for (const row of log) {
    switch (row.kind) {
      case "RUN_REVIVED": {
        const { dropped } = readMeta<RevivalMeta>(row.dataJson);
        for (const key of dropped) {
          end.settled.delete(key);
          before?.settled.delete(key);
          undoing.delete(key);
          undone.delete(key);
          steps.delete(key);
          if (key === wanted) before = null;
        }
        lastFailed = [];
        break;
      }
      case "STEP_PLANNED":
      case "STEP_BEGUN":
      case "STEP_WAITING":
      case "STEP_ATTEMPT_FAILED":
      case "STEP_COMPLETED":
      case "STEP_FAILED": {
        const { key, kind } = row;
        if (compensations.has(key)) {
          undoing.add(key);
          if (kind === "STEP_COMPLETED") undone.add(key);
          break;
        }
        const at =
          kind === "STEP_COMPLETED" || kind === "STEP_FAILED" ? readStepRow(kind, row.dataJson).meta.at : undefined;
        if (key === wanted && !before) {
          before = { settled: new Map([...end.settled].slice(0, at)), deferred: new Map(end.deferred) };
        }
        if (!steps.has(key)) lastFailed = [];
        note(steps, row);
        if (kind !== "STEP_COMPLETED" && kind !== "STEP_FAILED") break;
        if (!end.settled.has(key)) {
          end.settled.set(key, { kind, dataJson: row.dataJson });
          if (at !== undefined) placeLast(end.settled, at);
        }
        const { undo } = steps.get(key) ?? {};
        if (undo !== undefined) compensations.add(compensationKey(undo));
        if (kind === "STEP_FAILED") lastFailed.push(key);
        break;
      }
      case "DEFERRED":
        if (!end.deferred.has(row.key)) end.deferred.set(row.key, readMeta<DeferMeta>(row.dataJson));
        break;
      case "RUN_FAILED":
        failure = readMeta<{ error?: unknown }>(row.dataJson).error ?? null;
        break;
      default:
    }
  }
  return { end, before, steps, compensations, undoing, undone, lastFailed, failure };
}

function note(steps: Map<string, StepRecord>, row: LogRow): void {
  const meta = metaOf(row);
  const known = steps.get(row.key);
  steps.set(row.key, {
    op: meta.op,
    name: meta.name ?? known?.name,
    ordinal: meta.ordinal ?? known?.ordinal,
    undo: ("undo" in meta ? meta.undo : undefined) ?? known?.undo,
  });
}

function metaOf({ kind, dataJson }: LogRow): StepMeta | OpenMeta {
  if (kind === "STEP_COMPLETED" || kind === "STEP_FAILED") return readStepRow(kind, dataJson).meta;
  if (kind === "STEP_PLANNED" || kind === "STEP_WAITING") return readMeta<OpenMeta>(dataJson);
  return readMeta<{ step: StepMeta }>(dataJson).step;
}

/**
 * The key under which the log has a step, by the author's id (with the number of a repeat), by the key itself, or by the
 * name under which people see it, where one step alone has it.
 */
export function stepKeyIn(log: readonly LogRow[], step: string): string | null {
  const hashed = sha1Hex(step);
  let found: string | null = null;
  for (const { kind, key } of log) {
    if (key === "" || !kind.startsWith("STEP_")) continue;
    if (key === hashed) return key;
    if (key === step) found = key;
  }
  if (found !== null) return found;
  const named = [...readLog(log, null).steps].filter(([, { name }]) => name === step);
  return named.length === 1 ? (named[0]?.[0] ?? null) : null;
}

/** How people call the steps of a log, in the order in which they appeared. */
export function stepNamesIn(log: readonly LogRow[]): string[] {
  const { steps } = readLog(log, null);
  return [...steps.values()].flatMap(({ name }) => name ?? []);
}

export type Fork =
  | {
      readonly ok: true;
      /** Facts that follow the creation of the new run. */
      readonly rows: readonly LogRow[];
      readonly steps: number;
      /** Some of them can be undone when the new run fails. */
      readonly undoable: readonly string[];
    }
  | { readonly ok: false; readonly why: "unknown" }
  /** A step that would be kept was undone, or its undoing was begun. */
  | { readonly ok: false; readonly why: "undone"; readonly step: string };

/**
 * The facts with which a fork begins.
 *
 * FORK-1. Kept is every step that had ended before the chosen step appears in the log first: planned, begun, waiting,
 *     its first attempt failed or, where all of that was not written, ended. So what is kept is what some worker was
 *     given at that moment: no kept step rests on one that is not kept. What the code had not been given when the step
 *     ended is not kept.
 * FORK-2. Nothing is kept of the chosen step but, with `resultText`, that result.
 * FORK-3. What was open at that moment (waits, sleeps, invoked runs, failed attempts) begins anew.
 * FORK-4. Deferred runs on record by then are begun by the end of the first run, and by no fork.
 * FORK-5. A step that was undone is not kept.
 */
export function forkOf(log: readonly LogRow[], key: string, resultText: string | null): Fork {
  const { before, steps, undoing } = readLog(log, key);
  const chosen = steps.get(key);
  if (!before || !chosen) return { ok: false, why: "unknown" };
  const rows: LogRow[] = [];
  const undoable = new Set<string>();
  for (const [kept, { kind, dataJson }] of before.settled) {
    if (kept === key) continue;
    const { meta, text } = readStepRow(kind, dataJson);
    if (meta.undo !== undefined && kind === "STEP_COMPLETED") {
      if (undoing.has(compensationKey(meta.undo))) return { ok: false, why: "undone", step: meta.undo };
      undoable.add(meta.undo);
    }
    // They are in their order already.
    const { at: _, ...own } = meta;
    rows.push(keptRow(kept, kind, { ...own, kept: true }, text));
  }
  if (resultText !== null) rows.push(stepCompletedRow(key, editedMeta(chosen), resultText));
  for (const [deferKey, { functionId, name }] of before.deferred) {
    const meta: DeferMeta = { functionId, ...(name === undefined ? {} : { name }), rejected: BEGUN_BY_ORIGIN };
    rows.push(jsonRow("DEFERRED", deferKey, 0, 0, meta));
  }
  return { ok: true, rows, steps: before.settled.size + (resultText === null ? 0 : 1), undoable: [...undoable] };
}

const BEGUN_BY_ORIGIN = "The end of the run that this one was forked from begins it.";

function keptRow(key: string, kind: SettledKind, meta: StepMeta, text: string): LogRow {
  const field = kind === "STEP_COMPLETED" ? "data" : "error";
  return { kind, key, attempt: 0, iteration: 0, dataJson: `{"step":${JSON.stringify(meta)},"${field}":${text}}` };
}

function editedMeta({ op, name, ordinal, undo }: StepRecord): StepMeta {
  return {
    op: isParkedOp(op) ? op : "StepRun",
    ...(name === undefined ? {} : { name }),
    ...(ordinal === undefined ? {} : { ordinal }),
    ...(undo === undefined ? {} : { undo }),
    kept: true,
    edited: true,
  };
}

export type ResumePlan =
  | { readonly ok: true; readonly dropped: readonly string[] }
  /** Some of its steps were undone, this one first of all that it had done. */
  | { readonly ok: false; readonly why: "undone"; readonly step: string };

/**
 * The results that a run drops when it goes on after its failure.
 *
 * RESUME-1. Dropped are failed steps alone: those that the run's error names, itself or in its causes, and those after
 *     whose failure no other step appears in the log. A failure that the handler has caught and gone on from stays.
 * RESUME-2. A run that has undone a step does not go on: what follows that step rests on it.
 */
export function resumePlan(log: readonly LogRow[]): ResumePlan {
  const { end, undoing, lastFailed, failure } = readLog(log, null);
  for (const { kind, dataJson } of end.settled.values()) {
    if (kind !== "STEP_COMPLETED") continue;
    const { undo } = readStepRow(kind, dataJson).meta;
    if (undo !== undefined && undoing.has(compensationKey(undo))) return { ok: false, why: "undone", step: undo };
  }
  const named = new Set(stepsNamedBy(failure, 0).map(sha1Hex));
  const dropped = [...end.settled].flatMap(([key, { kind, dataJson }]) => {
    if (kind !== "STEP_FAILED") return [];
    return named.has(key) || lastFailed.includes(key) || isSameError(failure, readStepRow(kind, dataJson).text)
      ? [key]
      : [];
  });
  return { ok: true, dropped: [...dropped, ...undoing] };
}

const MAX_CAUSES = 10;

/** Ids of the steps whose `StepError` it is, or has among its causes. */
function stepsNamedBy(error: unknown, depth: number): string[] {
  if (!isRecord(error) || depth > MAX_CAUSES) return [];
  const own = [error.stepId, isRecord(error.data) ? error.data.stepId : undefined];
  const { errors } = isRecord(error.data) ? error.data : error;
  const inner = [error.cause, ...(Array.isArray(errors) ? errors : [])];
  return [
    ...own.filter((one): one is string => typeof one === "string"),
    ...inner.flatMap((one) => stepsNamedBy(one, depth + 1)),
  ];
}

/** Workers of other packages name no step. */
function isSameError(failure: unknown, errorText: string): boolean {
  const error: unknown = JSON.parse(errorText);
  if (!isRecord(failure) || !isRecord(error)) return false;
  return failure.name === error.name && failure.message === error.message && failure.stack === error.stack;
}
