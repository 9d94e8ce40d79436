/**
 * Undoing the steps of a run that has failed, as steps of its own (docs/decisions/0028). `Pass` collects the
 * compensations while it replays the handler, and runs them here.
 */
import { isNonDeterminism, type PlainError } from "@holdfast/core";
import { isRecord, normalizeError } from "@holdfast/protocol";
import type { CompensationReport } from "../steps/errors.ts";
import type { Journal } from "../steps/journal.ts";
import type { HandlerEnd, OpText } from "../steps/pass-types.ts";
import { reviveError } from "../steps/revive-error.ts";
import type { StepCall } from "../steps/step-call.ts";
import { hashStepId, RESERVED_PREFIX, reservedIdentity, type StepIdentity } from "../steps/step-id.ts";
import { type AsyncContext, asyncContext } from "./async-context.ts";
import { OpWriter } from "./op-text.ts";
import type { PassHost } from "./pass-host.ts";
import type { PassOptions } from "./pass-options.ts";
import { errorObject } from "./result-json.ts";
import type { StepRecord } from "./step-record.ts";

const FAILURE_ID = `${RESERVED_PREFIX}failure`;
const UNDO_PREFIX = `${RESERVED_PREFIX}compensate:`;

/** The step that a compensation undoes; undefined: it is no compensation. */
export function withoutUndoPrefix(fullId: string): string | undefined {
  return fullId.startsWith(UNDO_PREFIX) ? fullId.slice(UNDO_PREFIX.length) : undefined;
}

/** What a run that undoes its steps has on record: why, and which steps its code had compensations for then. */
export interface FailureMemo {
  readonly error: PlainError & Record<string, unknown>;
  /** Absent when a gateway made it. */
  readonly steps?: readonly string[];
}

export function readFailure(journal: Journal): FailureMemo | undefined {
  const hit = journal.lookup(hashStepId(FAILURE_ID));
  if (hit?.type !== "data" || !isRecord(hit.data)) return undefined;
  const { error, steps } = hit.data;
  if (!Array.isArray(steps)) return { error: normalizeError(error) };
  return { error: normalizeError(error), steps: steps.filter((step): step is string => typeof step === "string") };
}

/** The op after which a run undoes its steps. */
function failureOp(error: PlainError, steps: readonly StepRecord[], startedMs: number): OpText {
  const memo = { error, steps: steps.map(({ identity }) => identity.fullId) };
  const subject = { identity: reservedIdentity(FAILURE_ID), call: { id: FAILURE_ID, kind: "run" } as const };
  const json = { text: JSON.stringify(memo), isUndefined: false };
  return new OpWriter({ ...subject, args: undefined, ordinal: undefined }).finished(json, {
    timing: { startedMs, durationMs: 0 },
  });
}

/** A step that was planned before the function failed, and must not run any more. */
function abandonedOp(hash: string, startedMs: number): OpText {
  const identity: StepIdentity = { hash, id: hash, index: 0, fullId: hash };
  const error = { name: "Error", message: "It was not run: the function had failed before the step started." };
  return new OpWriter({ identity, call: { id: hash, kind: "run" }, args: undefined, ordinal: undefined }).failed(
    error,
    true,
    { timing: { startedMs, durationMs: 0 } },
  );
}

/** The same as the end of a pass that was asked for this one step; undefined: it was not. */
export function abandonedEnd({ mode, ports }: PassOptions, hash: string): HandlerEnd | undefined {
  if (mode.type !== "targeted" || mode.hash !== hash) return undefined;
  return { type: "op", op: abandonedOp(hash, ports.clock.nowMs()), final: true };
}

const isDoneOrRunning = ({ progress, isRunning }: StepRecord): boolean => progress === "done" || isRunning;

/** What the gateway does may have ended without this pass having heard of it: the next one has it on record. */
const mayHaveEnded = ({ call, progress }: StepRecord): boolean => call.undoStep !== undefined && progress !== "failed";

/** A step of its own that carries what undoes another one. */
const isUndoStep = ({ compensate, undoStep }: StepCall): boolean => compensate !== undefined && undoStep !== undefined;

/** Without the steps whose undo step stands for them. */
function withoutCarried(known: readonly StepRecord[]): readonly StepRecord[] {
  const carried = new Set(
    known.filter((record) => isUndoStep(record.call) && isDoneOrRunning(record)).map(({ identity }) => identity.fullId),
  );
  return known.filter(({ call }) => isUndoStep(call) || call.undoStep === undefined || !carried.has(call.undoStep));
}

/**
 * How the pass of a run that has failed ends where it may have to undo something, and how many steps it knows of;
 * undefined: it has nothing to undo, or its code has changed.
 */
export function undoingEnd(
  error: PlainError,
  known: readonly StepRecord[],
  { mode, ports }: PassOptions,
): { readonly end: HandlerEnd; readonly steps: number } | undefined {
  const undoable = withoutCarried(known);
  const steps = undoable.filter(isDoneOrRunning).length;
  if ((steps === 0 && !undoable.some(mayHaveEnded)) || isNonDeterminism(error)) return undefined;
  const nowMs = ports.clock.nowMs();
  const isTargeted = mode.type === "targeted";
  const op = isTargeted ? abandonedOp(mode.hash, nowMs) : failureOp(error, undoable, nowMs);
  return { end: { type: "op", op, final: isTargeted }, steps };
}

/** A finished step with its compensation. */
interface Undoable {
  readonly record: StepRecord;
  readonly position: number;
  /** Of the call, as for its body. */
  readonly context: AsyncContext;
  /** The handler may have changed the one it was given. */
  readonly resultJson: string | undefined;
}

/** Runs a step of ours in the pass. */
export type RunReserved = (identity: StepIdentity, call: StepCall) => Promise<unknown>;

/**
 * Undoes the finished steps of a run that has failed. First the handler is replayed, only to find the compensations of its
 * finished steps; then these run one by one, the step that finished last first, as steps of their own.
 */
export class Compensation {
  readonly failure: FailureMemo;
  readonly #journal: Journal;
  readonly #found: Undoable[] = [];
  /** By the steps that others carry the undoing of: the full ids of those. */
  readonly #undoSteps = new Map<string, string>();
  readonly #openUndoSteps = new Set<StepRecord>();
  /** False once the compensations have begun: from then on the handler is not listened to. */
  isCollecting = true;

  constructor(failure: FailureMemo, journal: Journal) {
    this.failure = failure;
    this.#journal = journal;
  }

  /** The handler asks for a finished step. */
  collect(record: StepRecord, value: unknown): void {
    const { identity, call } = record;
    const position = this.#journal.positionOf(identity.hash);
    if (call.undoStep !== undefined) this.#undoSteps.set(identity.fullId, call.undoStep);
    if (call.compensate === undefined || position === undefined) return;
    this.#found.push({ record, position, context: asyncContext(), resultJson: JSON.stringify(value) });
  }

  /** Whether a step that is not finished begins all the same: another one needs it to be undone. */
  begin(record: StepRecord, { mode }: Pick<PassOptions, "mode">): boolean {
    const begins = isUndoStep(record.call) && (mode.type !== "targeted" || mode.hash === record.identity.hash);
    if (begins) this.#openUndoSteps.add(record);
    return begins;
  }

  /** Some step that is needed to undo others runs, or is about to. */
  get isBeginning(): boolean {
    return this.#openUndoSteps.size > 0;
  }

  /** Whether a step that has begun so has ended, last of all. */
  settle(record: StepRecord): boolean {
    if (!this.#openUndoSteps.delete(record)) return false;
    const position = this.#journal.finished.length + this.#found.length;
    this.#found.push({ record, position, context: record.context ?? asyncContext(), resultJson: "null" });
    return true;
  }

  /**
   * Whether a finished step that may have a compensation has not been asked for yet. A gateway that ended the run itself
   * does not know which have one.
   */
  isMissingSome(isAsked: (hash: string) => boolean): boolean {
    const { steps } = this.failure;
    if (steps !== undefined) return steps.some((step) => this.#isDone(step) && !isAsked(hashStepId(step)));
    const ours = new Set(this.#found.map(({ record }) => hashStepId(`${UNDO_PREFIX}${record.identity.fullId}`)));
    ours.add(hashStepId(FAILURE_ID));
    return this.#journal.finished.some((hash) => !isAsked(hash) && !ours.has(hash));
  }

  /** Undoes everything; gives the error with which the run ends. */
  async run(runReserved: RunReserved): Promise<PlainError & { readonly compensation: CompensationReport }> {
    const undone: string[] = [];
    const failed: { stepId: string; error: PlainError }[] = [];
    const { error, steps = [] } = this.failure;
    for (const { record, context, resultJson } of this.#found.toSorted((a, b) => b.position - a.position)) {
      const { fullId } = record.identity;
      const identity = reservedIdentity(`${UNDO_PREFIX}${fullId}`);
      let cause: PlainError | undefined;
      const failure = (_id: string, plain: PlainError): Error => {
        cause = plain;
        return new Error(plain.message);
      };
      const body = (): unknown => {
        const result = resultJson === undefined ? undefined : JSON.parse(resultJson);
        return record.call.compensate?.(result, reviveError(error));
      };
      const displayName = `compensate ${record.call.displayName ?? fullId}`;
      try {
        const call: StepCall = { id: identity.id, displayName, kind: "run", body, failure };
        await context.runInAsyncScope(() => runReserved(identity, call));
        undone.push(fullId);
      } catch (thrown) {
        failed.push({ stepId: fullId, error: cause ?? errorObject(thrown) });
      }
    }
    const found = new Set(this.#found.map(({ record }) => record.identity.fullId));
    const notRun = steps.filter((step) => !found.has(this.#undoSteps.get(step) ?? step) && this.#isDone(step));
    return { ...error, compensation: { undone, failed: reported(failed), notRun } };
  }

  #isDone(fullId: string): boolean {
    return this.#journal.lookup(hashStepId(fullId))?.type === "data";
  }
}

/** Characters that the errors of compensations may take in all: they are in the event of `onFailure`, which has a limit. */
const MAX_REPORTED = 1024 * 1024;

/** Errors as they are, or, where that is too much, the beginnings of their messages: their steps have all of them. */
function reported(failed: CompensationReport["failed"]): CompensationReport["failed"] {
  const length = failed.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
  if (length <= MAX_REPORTED) return failed;
  const maxChars = Math.floor(MAX_REPORTED / failed.length);
  return failed.map(({ stepId, error: { name, message } }) => {
    const error = { name: name.slice(0, maxChars), message: message.slice(0, maxChars) };
    return { stepId, error };
  });
}

/** Undoes the steps of a run in its pass, once, and ends that. */
export async function undoSteps(
  compensation: Compensation,
  host: Pick<PassHost, "isOpen" | "openStep" | "send">,
  log: { undone(report: CompensationReport): void },
): Promise<void> {
  if (!host.isOpen || !compensation.isCollecting) return;
  compensation.isCollecting = false;
  const error = await compensation.run((identity, call) => host.openStep(identity, call).promise);
  if (host.isOpen) log.undone(error.compensation);
  const body = JSON.stringify({ ...error, __serialized: true });
  host.send({ type: "handler-ended", end: { type: "failed", body, final: true } });
}
