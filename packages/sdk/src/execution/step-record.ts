/**
 * A step that the handler has called: its promise, its outcome, and the run of its body. `Pass` owns the records of
 * its pass.
 */
import { type Clock, describeValue, messageOf, type PlainError } from "@holdfast/core";
import { StepError, StepNestedError } from "../steps/errors.ts";
import type { FoundStep, OpText } from "../steps/pass-types.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepIdentity } from "../steps/step-id.ts";
import { STEP_KINDS } from "../steps/step-kinds.ts";
import { type CurrentExecution, type CurrentStep, runAs } from "./current.ts";
import type { CheckpointPort } from "./execution.ts";
import type { Turns } from "./fair-turns.ts";
import { type OpExtras, OpWriter } from "./op-text.ts";
import { decodeResult, encodeResult, type ResultJson, unusableResult } from "./result-json.ts";
import { isEndHeard, isStartHeard, publishEnd, startPublished } from "./step-messages.ts";
import { StepPromise } from "./step-promise.ts";
import { readThrown, type Thrown } from "./thrown.ts";

export type StepOutcome =
  | { readonly type: "memo"; readonly value: unknown }
  | { readonly type: "fresh"; readonly json: ResultJson }
  | { readonly type: "error"; readonly error: PlainError };

/** A step that the handler of one pass has called. */
export class StepRecord {
  readonly identity: StepIdentity;
  readonly call: StepCall;
  readonly args: readonly unknown[] | undefined;
  readonly promise: StepPromise<unknown>;
  /** How many steps the handler had called before it. */
  readonly place: number;
  readonly ops: OpWriter;
  attempt = 0;
  /** Its place in the order of discovery, where that cannot depend on time. */
  ordinal: number | undefined;
  /** When it was found depended on more than on steps. */
  followsTime = false;
  outcome: StepOutcome | undefined;
  /** Its body runs, or has given a result. */
  isRunning = false;
  #isStored = false;
  progress: "open" | "done" | "failed" = "open";
  #resolve: (value: unknown) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(identity: StepIdentity, call: StepCall, args: readonly unknown[] | undefined, place: number) {
    this.identity = identity;
    this.call = call;
    this.args = args;
    this.place = place;
    this.ops = new OpWriter(this);
    this.promise = new StepPromise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Its body runs, or has given a result that is not stored yet. */
  get isUnderWay(): boolean {
    return this.isRunning && !this.#isStored;
  }

  noteStored(): void {
    this.#isStored = true;
  }

  /** What the pass needs to know of it. */
  get found(): FoundStep {
    const { body, kind } = this.call;
    return { hash: this.identity.hash, hasBody: body !== undefined, isWait: STEP_KINDS[kind].isWait };
  }

  settle(): void {
    const { outcome } = this;
    this.outcome = undefined;
    switch (outcome?.type) {
      case "memo":
        this.progress = "done";
        return this.#resolveWith(outcome.value);
      case "fresh":
        this.progress = "done";
        return this.#resolveWith(decodeResult(outcome.json));
      case "error":
        this.progress = "failed";
        this.promise.quieten();
        return this.#reject(this.#failure(outcome.error));
      case undefined:
        return;
    }
  }

  #resolveWith(value: unknown): void {
    const { show } = this.call;
    if (show === undefined) return this.#resolve(value);
    try {
      this.#resolve(show(value));
    } catch (unusable) {
      this.promise.quieten();
      this.#reject(unusable);
    }
  }

  #failure(error: PlainError): Error {
    const { fullId } = this.identity;
    return this.call.failure?.(fullId, error) ?? new StepError(fullId, error);
  }
}

/** A step called in the body of another one. The body fails with it even when it does not await the call. */
export function nestedCall(call: StepCall, outer: CurrentStep): Promise<never> {
  const error = new StepNestedError(typeof call.id === "string" ? call.id : describeValue(call.id), outer.id);
  const promise = new StepPromise<never>((_resolve, reject) => reject(error));
  promise.quieten();
  outer.nested = [...(outer.nested ?? []), { error, promise }];
  return promise;
}

export interface BodyContext {
  readonly execution: CurrentExecution;
  readonly clock: Clock;
  /** The gateway knows our extensions. */
  readonly isExtended: boolean;
  readonly isFinal: (thrown: Thrown) => boolean;
}

export type BodyEnd =
  | { readonly type: "finished"; readonly op: OpText; readonly final: false; readonly durationMs: number }
  | {
      readonly type: "failed";
      readonly op: OpText;
      readonly final: boolean;
      readonly retryAfter?: string;
      readonly durationMs: number;
    };

/**
 * Calls `start` when it is its turn and the work is known to be this worker's, or is not wanted any more: at once,
 * nearly always.
 */
export function startInTurn(turns: Turns, port: CheckpointPort, start: () => void): () => void {
  const confirm = (): void => {
    const wait = port.whenConfirmed?.();
    if (wait) void wait.then(run);
    else start();
  };
  const run = (): void => turns.start(confirm);
  return run;
}

/**
 * Runs a step's body, keeps its outcome in the record and reports it as an op, exactly once. A synchronous result is
 * reported at once, which saves a promise for each step that only computes.
 */
export function runBody(record: StepRecord, context: BodyContext, onEnd: (end: BodyEnd) => void): void {
  const { identity, call, attempt, args = [] } = record;
  const { clock, isExtended } = context;
  const step: CurrentStep = { id: identity.fullId, hash: identity.hash, attempt, active: true };
  const startedMs = clock.nowMs();
  const from = clock.monotonicMs();
  const extras = (durationMs: number): OpExtras => {
    const timing = { startedMs, durationMs };
    return isExtended ? { timing, attempt } : { timing };
  };
  const onError = (raw: unknown): void => {
    step.active = false;
    const thrown = readThrown(raw);
    const { error } = thrown;
    const final = context.isFinal(thrown);
    const retryAfter = final || thrown.retryAfter === undefined ? {} : { retryAfter: thrown.retryAfter };
    record.outcome = { type: "error", error };
    const durationMs = clock.monotonicMs() - from;
    if (isEndHeard()) publishEnd(record, context.execution, startedMs, durationMs, { error, willRetry: !final });
    const op = record.ops.failed(error, final, { ...extras(durationMs), ...retryAfter });
    onEnd({ type: "failed", op, final, ...retryAfter, durationMs });
  };
  const onValue = (value: unknown): void => {
    const forgotten = step.nested?.find(({ promise }) => !promise.isAwaited);
    if (forgotten) return onError(forgotten.error);
    step.active = false;
    let json: ResultJson;
    try {
      json = encodeResult(value, `step "${identity.fullId}"`);
    } catch (unusable) {
      return onError(unusable);
    }
    record.outcome = { type: "fresh", json };
    const durationMs = clock.monotonicMs() - from;
    if (isEndHeard()) publishEnd(record, context.execution, startedMs, durationMs, null);
    onEnd({ type: "finished", op: record.ops.finished(json, extras(durationMs)), final: false, durationMs });
  };
  let value: unknown;
  try {
    const body = (): unknown => call.body?.(identity.hash, args);
    const start = isStartHeard() ? () => startPublished(record, context.execution, startedMs, body) : body;
    value = runAs({ ...context.execution, step }, start);
  } catch (thrown) {
    return onError(thrown);
  }
  let isLater: boolean;
  try {
    isLater = isThenable(value);
  } catch (cause) {
    return onError(unusableResult(`step "${identity.fullId}"`, messageOf(cause), cause));
  }
  if (isLater) void follow(value, onValue, onError);
  else onValue(value);
}

function isThenable(value: unknown): boolean {
  const kind = typeof value;
  if ((kind !== "object" && kind !== "function") || value === null) return false;
  return typeof (value as { then?: unknown }).then === "function";
}

/** Calls one of the two, once, whatever the thenable does: `await` looks at it where nothing that it throws gets out. */
async function follow(
  value: unknown,
  onValue: (value: unknown) => void,
  onError: (thrown: unknown) => void,
): Promise<void> {
  let settled: unknown;
  try {
    settled = await value;
  } catch (thrown) {
    return onError(thrown);
  }
  onValue(settled);
}
