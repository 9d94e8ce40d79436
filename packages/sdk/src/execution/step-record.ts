/**
 * A step that the handler has called: its promise and its outcome. `Pass` owns the records of its pass; `run-body.ts`
 * runs their bodies.
 */
import { describeValue, type PlainError } from "@holdfast/core";
import { StepError, StepNestedError } from "../steps/errors.ts";
import type { FoundStep } from "../steps/pass-types.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepIdentity } from "../steps/step-id.ts";
import { STEP_KINDS } from "../steps/step-kinds.ts";
import { type AsyncContext, asyncContext } from "./async-context.ts";
import type { CurrentStep } from "./current.ts";
import { OpWriter } from "./op-text.ts";
import { decodeResult, type ResultJson } from "./result-json.ts";
import { StepPromise } from "./step-promise.ts";

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
  /** Of the call, for the body, however much later that runs. */
  context: AsyncContext | undefined;
  /** When it was found depended on more than on steps. */
  followsTime = false;
  outcome: StepOutcome | undefined;
  /** The run had its result, or its error, on record before this pass. */
  isRecorded = false;
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

  /** It is not finished, so its body may run: in the async context of the code that calls this. */
  keepContext(): void {
    if (this.call.body !== undefined) this.context = asyncContext();
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
    const { isWait, listens } = STEP_KINDS[kind];
    return { hash: this.identity.hash, hasBody: body !== undefined, isWait, listens };
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
