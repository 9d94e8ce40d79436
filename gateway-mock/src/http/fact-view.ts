/** How a row of a log looks in live streams: each fact with what it says, the step by its author's name. Pure. */
import { type FailureMeta, type JsonText, type OpenMeta, readMeta, readStepRow, type StepMeta } from "@holdfast/engine";
import { type ChangeFact, type LogChange, type LogKind, plainName } from "@holdfast/store";

import { isoTime } from "./iso-time.ts";
import { storedJson } from "./json-answer.ts";

/** What one write added to a run: message `facts` of a stream. */
export interface FactsView {
  readonly runId: string;
  readonly functionId: string;
  /** Rises within the run, with gaps. */
  readonly seq: number;
  readonly at: string;
  readonly atMs: number;
  /** What the run became with it; null when it stayed what it was. */
  readonly status: string | null;
  readonly facts: readonly FactView[];
}

/** Fields that a kind has nothing to say of are left out. */
export interface FactView {
  readonly kind: LogKind;
  /** Zero-based. */
  readonly attempt: number;
  /** As the author wrote it, and its digest; of facts about steps. */
  readonly step?: { readonly id: string; readonly name: string | null; readonly op: string | null };
  /** Of a step or the run, as JSON text that is passed on. */
  readonly output?: JsonText;
  readonly error?: JsonText;
  /** When the next attempt is due, or the wait ends. */
  readonly dueMs?: number;
  /** How long the step took, as the worker measured it. */
  readonly durationMs?: number;
  /** Output and error are left out: they are large. `GET /v1/runs/:id` has them. */
  readonly isCut?: true;
}

export function factsView({ runId, functionId, seq, atMs, status, facts }: LogChange): FactsView {
  return {
    runId,
    functionId: plainName(functionId),
    seq,
    at: isoTime(atMs),
    atMs,
    status,
    facts: facts.map((fact) => factView(fact, atMs)),
  };
}

interface Failed {
  readonly error?: unknown;
  readonly delayMs?: number;
}

function factView(fact: ChangeFact, atMs: number): FactView {
  const { kind, key, attempt, dataJson } = fact;
  const base = { kind, attempt };
  if (dataJson === null) return { ...base, ...(isOfStep(kind) ? { step: stepOf(key) } : {}), isCut: true };
  const errorOf = (error: unknown): JsonText => storedJson(JSON.stringify(error ?? null));
  switch (kind) {
    case "STEP_COMPLETED":
    case "STEP_FAILED": {
      const { meta, text } = readStepRow(kind, dataJson);
      const { durationMs, attempt: at = 0 } = meta;
      const took = durationMs === undefined ? {} : { durationMs };
      const result = kind === "STEP_COMPLETED" ? { output: storedJson(text) } : { error: storedJson(text) };
      return { ...base, attempt: at, step: stepOf(key, meta), ...took, ...result };
    }
    case "STEP_ATTEMPT_FAILED": {
      const { step, error, delayMs } = readMeta<FailureMeta>(dataJson);
      return { ...base, step: stepOf(key, step), error: errorOf(error), dueMs: atMs + delayMs };
    }
    case "STEP_WAITING":
    case "STEP_PLANNED": {
      const meta = readMeta<OpenMeta>(dataJson);
      const dueMs = Math.max(meta.delayMs === undefined ? 0 : atMs + meta.delayMs, meta.untilMs ?? 0);
      return { ...base, step: stepOf(key, meta), ...(dueMs > 0 ? { dueMs } : {}) };
    }
    case "STEP_BEGUN":
      return { ...base, step: stepOf(key, readMeta<{ step?: StepMeta }>(dataJson).step) };
    case "PASS_FAILED": {
      const { error, delayMs = 0 } = readMeta<Failed>(dataJson);
      return { ...base, error: errorOf(error), dueMs: atMs + delayMs };
    }
    case "RUN_COMPLETED":
      return { ...base, output: storedJson(outputText(dataJson)) };
    case "RUN_FAILED":
    case "RUN_CANCELLED":
      return { ...base, error: errorOf(readMeta<Failed>(dataJson).error) };
    default:
      return base;
  }
}

const OUTPUT = '{"output":';

const outputText = (dataJson: string): string =>
  dataJson.startsWith(OUTPUT) ? dataJson.slice(OUTPUT.length, -1) : "null";

const isOfStep = (kind: LogKind): boolean => kind.startsWith("STEP_");

const stepOf = (id: string, meta?: { readonly name?: string; readonly op?: string }): FactView["step"] & object => ({
  id,
  name: meta?.name ?? null,
  op: meta?.op ?? null,
});
