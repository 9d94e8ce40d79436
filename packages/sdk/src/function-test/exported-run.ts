/** A run as `holdfast-gateway export` writes it, one line of JSON each; and its state, folded from the facts. */
import { applyRow, emptyRun, type RunState, runCreatedRow } from "@holdfast/engine";
import { isRecord } from "@holdfast/protocol";
import { HoldfastError } from "../sdk.ts";

export const RUN_FORMAT = "holdfast-run/1";

export interface ExportedFact {
  readonly kind: string;
  readonly key: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly atMs: number;
  readonly data: unknown;
}

/** One line of an export. */
export interface ExportedRun {
  readonly format: typeof RUN_FORMAT;
  /** As `GET /v1/runs/:id?log=1` has it. */
  readonly run: {
    readonly id: string;
    readonly functionId: string;
    readonly appId: string;
    readonly appVersion: string;
    readonly status: string;
    readonly log: readonly ExportedFact[];
  };
}

/** @throws HoldfastError `EXPORT_INVALID` */
export function readExportedRun(line: string): ExportedRun {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new HoldfastError("EXPORT_INVALID", "A line of the export is not JSON.", { cause });
  }
  const { format } = isRecord(value) ? value : {};
  if (format !== RUN_FORMAT) {
    const what = typeof format === "string" ? `has the format "${format}"` : "names no format";
    throw new HoldfastError("EXPORT_INVALID", `A line of the export ${what}; this version reads ${RUN_FORMAT}.`);
  }
  if (isExportedRun(value)) return value;
  throw new HoldfastError("EXPORT_INVALID", "A line of the export has no run with its log.");
}

function isExportedRun(value: unknown): value is ExportedRun {
  const { run } = isRecord(value) ? value : {};
  if (!isRecord(run) || !Array.isArray(run.log)) return false;
  return [run.id, run.functionId, run.appId, run.appVersion, run.status].every((field) => typeof field === "string");
}

type Row = Parameters<typeof applyRow>[1];

const ENDS: ReadonlySet<string> = new Set(["RUN_COMPLETED", "RUN_FAILED", "RUN_CANCELLED"]);

/** Where a run begins to undo its steps: from there on its handler is not what goes on. */
const FAILURE_NAME = "holdfast/failure";

/** The state before the run's end, and before it began to undo its steps. */
export function stateOf({ run }: ExportedRun): RunState {
  const { id: runId, functionId, appId, appVersion } = run;
  const state = emptyRun({ runId, functionId, appId, appVersion, version: 1 });
  for (const fact of run.log) {
    if (ENDS.has(fact.kind)) continue;
    if (stepOf(fact)?.name === FAILURE_NAME) break;
    applyRow(state, rowOf(fact), fact.atMs);
  }
  // Time does not end a replay.
  state.deadlineMs = null;
  state.passAttempt = 0;
  return state;
}

function rowOf({ kind, key, attempt, iteration, data }: ExportedFact): Row {
  if (kind !== "RUN_CREATED" || !isRecord(data)) {
    return { kind: kind as Row["kind"], key, attempt, iteration, dataJson: JSON.stringify(data) };
  }
  // Texts may be written otherwise than they were: their lengths are taken anew.
  const { eventLength: _, ...meta } = data.run as { eventLength?: number } & Parameters<typeof runCreatedRow>[0];
  const more = Array.isArray(data.more) ? data.more.map((one) => JSON.stringify(one)) : [];
  return runCreatedRow(meta, JSON.stringify(data.event), more);
}

export interface RecordedStep {
  /** What people call it. */
  readonly name: string;
  readonly op: string;
  /** When the code met it among its steps, where that does not depend on time. */
  readonly ordinal: number | undefined;
}

/** The step of a fact. */
export function stepOf({ key, data }: ExportedFact): RecordedStep | undefined {
  if (key === "" || !isRecord(data)) return undefined;
  const meta = isRecord(data.step) ? data.step : data;
  if (typeof meta.op !== "string") return undefined;
  const ordinal = typeof meta.ordinal === "number" ? meta.ordinal : undefined;
  return { name: typeof meta.name === "string" ? meta.name : key, op: meta.op, ordinal };
}
