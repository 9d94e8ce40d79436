/**
 * What a run that failed has undone of its steps, and what it has not; and so which verbs the gateway would refuse. Read
 * from the run's log, as the gateway reads it (`forkOf` and `resumePlan` of the engine). Pure.
 */
import type { Fact, RunDetail } from "./types.ts";

/** The step whose result says why a run undoes its steps: no step of the code. */
export const FAILURE_STEP = "e54d2e8d43a999def9e2a2d59091b498d84639c0";

/** What a run's error says of the undoing. Steps by the ids that their author gave them. */
export interface UndoingReport {
  readonly undone: readonly string[];
  readonly failed: readonly { readonly stepId: string; readonly error: unknown }[];
  readonly notRun: readonly string[];
}

export interface Undoing {
  /** Null while it goes on. */
  readonly report: UndoingReport | null;
  /** Ids of the steps that undo others, and of the one that begins it. */
  readonly steps: ReadonlySet<string>;
  /** Some step has been undone, or was to be. */
  readonly hasBegun: boolean;
  /** Some finished step was not undone. */
  readonly isIncomplete: boolean;
  /** Ids of the steps from which a new run can go on. */
  readonly forkable: ReadonlySet<string>;
}

/** What is read of the rows about steps. */
interface StepData {
  readonly name?: string;
  readonly step?: { readonly name?: string; readonly undo?: string; readonly at?: number };
}

const stepData = ({ data }: Fact): StepData => (data ?? {}) as StepData;

export function undoingOf(run: RunDetail): Undoing {
  const log = run.log ?? [];
  const { begun, done, undoable } = walk(log);
  const report = run.compensating ? reportIn(run.error) : null;
  const undone = undoneKeys(undoable, report, begun.size);
  const steps = new Set([...begun, FAILURE_STEP]);
  return {
    report,
    steps,
    hasBegun: begun.size > 0,
    isIncomplete: done.size < undoable.size,
    forkable: forkable(
      run.steps.map(({ id }) => id),
      log,
      steps,
      undone,
    ),
  };
}

/** Whether the gateway would try again what could not be undone. */
export const canRetryUndoing = (run: RunDetail): boolean =>
  run.status === "FAILED" && run.compensating && undoingOf(run).isIncomplete;

/** A run that has begun to undo a step does not go on. */
export const canResume = (run: RunDetail): boolean =>
  (run.status === "FAILED" || run.status === "CANCELLED") && !undoingOf(run).hasBegun;

function reportIn(error: unknown): UndoingReport | null {
  const { compensation } = (error ?? {}) as { readonly compensation?: Partial<UndoingReport> | null };
  if (typeof compensation !== "object" || compensation === null) return null;
  const { undone = [], failed = [], notRun = [] } = compensation;
  return { undone, failed, notRun };
}

interface Walked {
  /** Steps that undo others and have begun. */
  readonly begun: ReadonlySet<string>;
  /** Of these the ones that have done it. */
  readonly done: ReadonlySet<string>;
  /** Of each finished step that can be undone: the id that its author gave it. */
  readonly undoable: ReadonlyMap<string, string>;
}

const PREFIX = "compensate ";

function walk(log: readonly Fact[]): Walked {
  const before = new Set<string>();
  const begun = new Set<string>();
  const done = new Set<string>();
  const undoable = new Map<string, string>();
  let isUndoing = false;
  for (const fact of log) {
    const { kind, key } = fact;
    if (kind === "RUN_REVIVED") {
      for (const dropped of droppedBy(fact)) {
        begun.delete(dropped);
        before.delete(dropped);
        if (dropped === FAILURE_STEP) isUndoing = false;
      }
    } else if (!kind.startsWith("STEP_")) continue;
    else if (key === FAILURE_STEP) isUndoing = true;
    else if (isUndoing && !before.has(key)) {
      const { name, step = {} } = stepData(fact);
      // Also the last attempt of a step that lost a race may be stored this late.
      if (!begun.has(key) && !(step.name ?? name ?? "").startsWith(PREFIX)) continue;
      begun.add(key);
      if (kind === "STEP_COMPLETED") done.add(key);
    } else {
      before.add(key);
      const { undo } = stepData(fact).step ?? {};
      if (kind === "STEP_COMPLETED" && undo !== undefined) undoable.set(key, undo);
    }
  }
  return { begun, done, undoable };
}

/** Of a run that goes on: ids of the steps whose results no longer count. */
export function droppedBy({ data }: Fact): readonly string[] {
  const { dropped = [] } = (data ?? {}) as { readonly dropped?: readonly string[] };
  return dropped;
}

/** The finished steps whose undoing has begun. The last one finished is undone first, so one that was cut short is known. */
function undoneKeys(
  undoable: ReadonlyMap<string, string>,
  report: UndoingReport | null,
  begun: number,
): ReadonlySet<string> {
  if (report === null) return begun === 0 ? new Set() : new Set(undoable.keys());
  const told = [...report.undone, ...report.failed.map(({ stepId }) => stepId)];
  const names = new Set([...told, ...report.notRun.slice(0, Math.max(0, begun - told.length))]);
  return new Set([...undoable].flatMap(([key, name]) => (names.has(name) ? [key] : [])));
}

/** Steps before whose first appearance in the log no step had ended that was undone later: a fork would keep it. */
function forkable(
  all: readonly string[],
  log: readonly Fact[],
  undoing: ReadonlySet<string>,
  undone: ReadonlySet<string>,
): ReadonlySet<string> {
  if (undone.size === 0) return new Set(all.filter((id) => !undoing.has(id)));
  const found = new Set<string>();
  const seen = new Set<string>();
  const ended = new Set<string>();
  let settled: string[] = [];
  for (const fact of log) {
    const { kind, key } = fact;
    if (kind === "RUN_REVIVED") {
      const dropped = new Set(droppedBy(fact));
      settled = settled.filter((one) => !dropped.has(one));
      for (const one of dropped) {
        ended.delete(one);
        seen.delete(one);
      }
    } else if (kind.startsWith("STEP_") && !undoing.has(key)) {
      const isEnd = kind === "STEP_COMPLETED" || kind === "STEP_FAILED";
      const at = (isEnd ? stepData(fact).step?.at : undefined) ?? settled.length;
      if (!seen.has(key)) {
        seen.add(key);
        const first = settled.findIndex((one) => undone.has(one));
        if (first === -1 || first >= at) found.add(key);
        else found.delete(key);
      }
      if (isEnd && !ended.has(key)) settled.splice(at, 0, key);
      if (isEnd) ended.add(key);
    }
  }
  return found;
}
