/**
 * Compensations as steps with reserved ids: what is to be undone, what was, and the error that says so
 * (docs/decisions/0028).
 */
import type { PlainError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { sha1Hex } from "../digest.ts";
import type { MemoStep, RunState } from "./run-state.ts";

/** sha1 of `holdfast/failure`: the reserved step whose result says why a run undoes its steps. */
export const FAILURE_KEY = "e54d2e8d43a999def9e2a2d59091b498d84639c0";

/** What became of the compensations: part of the error with which a run fails. Names are those that the author gave. */
export interface CompensationReport {
  readonly undone: readonly string[];
  readonly failed: readonly { readonly stepId: string; readonly error: unknown }[];
  readonly notRun: readonly string[];
}

/** The key of the step that undoes the step with this full id. */
export function compensationKey(fullId: string): string {
  return sha1Hex(`holdfast/compensate:${fullId}`);
}

export const isCompensating = (state: RunState): boolean => state.memo.has(FAILURE_KEY);

/** The error of a run whose compensations a worker could not see to their end, as far as they got. */
export function stoppedError(state: RunState, error: PlainError): PlainError & { compensation: CompensationReport } {
  return {
    ...originalError(state, error),
    compensation: { ...reportOf(state), stoppedBy: error } as CompensationReport,
  };
}

/** The error of a run that was cancelled while it undid its steps: as far as they got, and what it had failed with. */
export function cancelledError(state: RunState, error: PlainError): PlainError & { compensation: CompensationReport } {
  return { ...error, cause: originalError(state, error), compensation: reportOf(state) };
}

function originalError(state: RunState, fallback: PlainError): PlainError {
  const memo = readMemo(state.memo.get(FAILURE_KEY));
  const data = isRecord(memo?.data) ? memo.data : undefined;
  return isPlainError(data?.error) ? data.error : fallback;
}

function isPlainError(value: unknown): value is PlainError {
  return isRecord(value) && typeof value.name === "string" && typeof value.message === "string";
}

/** In the order in which the steps had been finished, the last one first. */
function reportOf(state: RunState): CompensationReport {
  const undone: string[] = [];
  const failed: { stepId: string; error: unknown }[] = [];
  const notRun: string[] = [];
  for (const { id: stepId } of state.undoable.toReversed()) {
    const memo = readMemo(state.memo.get(compensationKey(stepId)));
    if (!memo) notRun.push(stepId);
    else if (memo.type === "error") failed.push({ stepId, error: memo.error });
    else undone.push(stepId);
  }
  return { undone, failed, notRun };
}

/** Keys of compensations that failed permanently. */
export function failedCompensations(state: RunState): string[] {
  const keys = state.undoable.map(({ id }) => compensationKey(id));
  return keys.filter((key) => readMemo(state.memo.get(key))?.type === "error");
}

/** Whether some finished step was not undone. */
export function isUndoingIncomplete(state: RunState): boolean {
  return state.undoable.some(({ id }) => readMemo(state.memo.get(compensationKey(id)))?.type !== "data");
}

function readMemo(memo: MemoStep | undefined): { type: string; data?: unknown; error?: unknown } | undefined {
  return memo && (JSON.parse(memo.text) as { type: string; data?: unknown; error?: unknown });
}
