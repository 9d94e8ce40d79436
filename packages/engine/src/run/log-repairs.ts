/** What can be done again with a run, as far as its log says: what `forkOf` and `resumePlan` would answer. Pure. */
import type { LogRow } from "@holdfast/store";
import { type ReadLog, readLog } from "./forked-log.ts";
import { type RevivalMeta, readMeta, readStepRow } from "./log-rows.ts";
import { compensationKey, FAILURE_KEY } from "./saga.ts";

export interface LogRepairs {
  /** It has begun to undo its steps, and has not gone on with its code since. */
  readonly isCompensating: boolean;
  /** Keys of the compensations that have begun, and of the step that begins them: no steps of the code. */
  readonly compensations: ReadonlySet<string>;
  /** No finished step has been undone, nor has that begun. */
  readonly isResumable: boolean;
  /** Some finished step was to be undone, and has not been. */
  readonly isUndoingIncomplete: boolean;
  /** Keys of the steps from which a new run can go on. */
  readonly forkable: ReadonlySet<string>;
}

const KEPT = "STEP_COMPLETED";

const NONE: ReadonlySet<string> = new Set();

export function repairsIn(log: readonly LogRow[]): LogRepairs {
  // As of nearly all runs: what their rows hold need not be read.
  if (!log.some(({ key }) => key === FAILURE_KEY)) {
    const forkable = stepKeys(log);
    return { isCompensating: false, compensations: NONE, isResumable: true, isUndoingIncomplete: false, forkable };
  }
  const read = readLog(log, null);
  const { undoing, undone, steps, end } = read;
  const undoable = [...end.settled.values()].flatMap(({ kind, dataJson }) => {
    const { undo } = readStepRow(kind, dataJson).meta;
    return kind === KEPT && undo !== undefined ? [compensationKey(undo)] : [];
  });
  const hasUndone = undoable.some((key) => undoing.has(key));
  const isCompensating = undoing.has(FAILURE_KEY);
  return {
    isCompensating,
    compensations: undoing,
    isResumable: !hasUndone,
    isUndoingIncomplete: isCompensating && undoable.some((key) => !undone.has(key)),
    forkable: hasUndone ? forkableIn(log, read) : new Set(steps.keys()),
  };
}

function stepKeys(log: readonly LogRow[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { kind, key, dataJson } of log) {
    if (kind.startsWith("STEP_")) found.add(key);
    else if (kind === "RUN_REVIVED") for (const one of readMeta<RevivalMeta>(dataJson).dropped) found.delete(one);
  }
  return found;
}

/**
 * Steps before whose first appearance no step had ended that was undone later. In one pass: `forkOf` reads the whole log
 * for each.
 */
function forkableIn(log: readonly LogRow[], { compensations, undoing }: ReadLog): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<string>();
  const settled = new SettledSteps();
  for (const { kind, key, dataJson } of log) {
    if (kind === "RUN_REVIVED") {
      for (const dropped of readMeta<RevivalMeta>(dataJson).dropped) {
        settled.delete(dropped);
        seen.delete(dropped);
        found.delete(dropped);
      }
    } else if (kind.startsWith("STEP_") && !compensations.has(key)) {
      const meta = kind === "STEP_COMPLETED" || kind === "STEP_FAILED" ? readStepRow(kind, dataJson).meta : null;
      if (!seen.has(key) && !settled.hasUndone(meta?.at)) found.add(key);
      seen.add(key);
      if (meta)
        settled.add(key, kind === KEPT && meta.undo !== undefined && undoing.has(compensationKey(meta.undo)), meta.at);
    }
  }
  return found;
}

/** Steps that have ended, in the order in which the code was given their results. */
class SettledSteps {
  readonly #steps: { readonly key: string; readonly isUndone: boolean }[] = [];
  readonly #keys = new Set<string>();

  /** Whether one of the first `count`, or of all, was undone later. */
  hasUndone(count: number | undefined): boolean {
    const first = this.#steps.findIndex(({ isUndone }) => isUndone);
    return first !== -1 && (count === undefined || first < count);
  }

  add(key: string, isUndone: boolean, at = this.#steps.length): void {
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#steps.splice(at, 0, { key, isUndone });
  }

  delete(key: string): void {
    if (!this.#keys.delete(key)) return;
    this.#steps.splice(
      this.#steps.findIndex((step) => step.key === key),
      1,
    );
  }
}
