/**
 * A call of a step tool before it runs: id, kind, what is reported. Each tool makes one; `../execution/pass.ts` runs
 * it.
 */
import { describeValue, HoldfastError, messageOf, type PlainError } from "@holdfast/core";
import { jsonNestsDeeperThan, WIRE_LIMITS } from "@holdfast/protocol";
import { depthProblem } from "../events/json-depth.ts";
import { jsonFault } from "../events/json-fault.ts";
import type { IsolationMark } from "./isolated.ts";
import type { RetryIf, RetryPolicy } from "./retry-policy.ts";
import type { StepKind } from "./step-kinds.ts";

/** A step's id, or its id and how it is called for people. */
export type StepId = string | { readonly id: string; readonly name?: string };

/** The attempt that a body runs for, as bodies see it that hand their work on. */
export interface RunningStep {
  /** Fires when the attempt is not wanted any more. */
  readonly signal: AbortSignal;
  /** Called before the body returns: the time of the attempt counts from when what this gives is called. */
  holdTimeout(): () => void;
  /** Runs a marked body in another thread; absent: it runs here. */
  readonly isolate?: ((mark: IsolationMark, args: readonly unknown[]) => Promise<unknown>) | undefined;
}

/** A call of one of the tools. */
export interface StepCall {
  readonly id: unknown;
  readonly displayName?: string;
  readonly kind: StepKind;
  /** Absent for what the gateway does by itself. The hash lets it make ids that are the same on every attempt. */
  readonly body?: (hash: string, args: readonly unknown[], running: RunningStep) => unknown;
  /** Arguments of the author's, kept with the step. */
  readonly args?: readonly unknown[];
  /** Name of the reported op; default: the step's id. */
  readonly opName?: string;
  readonly opts?: Readonly<Record<string, unknown>>;
  /** What it says of its retries itself; what it does not say is the function's. */
  readonly retries?: RetryPolicy;
  readonly retryIf?: RetryIf;
  /** How long one attempt of the body may take. */
  readonly timeoutMs?: number;
  /** Undoes the step when the function has failed permanently. */
  readonly compensate?: (result: unknown, error: Error) => unknown;
  /**
   * Full id of the step that carries what undoes this one. Of that step itself: its own; its body does nothing, so it runs
   * even when the function has failed.
   */
  readonly undoStep?: string;
  /** What awaiting code gets of the value on record; default: that value. */
  readonly show?: (value: unknown) => unknown;
  /** What awaiting code gets when it failed permanently; default: a `StepError`. */
  readonly failure?: (fullId: string, error: PlainError) => Error;
}

/** The id, and the label if there is one. */
export function named(id: unknown): Pick<StepCall, "id" | "displayName"> {
  if (typeof id !== "object" || id === null) return { id };
  const { id: inner, name } = id as { id?: unknown; name?: unknown };
  return typeof name === "string" && name !== "" ? { id: inner, displayName: name } : { id: inner };
}

export function invalidStep(id: unknown, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("STEP_INVALID", `Step ${nameOf(id)}: ${problem}.`, { cause });
}

/** The id for messages, whatever was given as one. */
export function nameOf(id: unknown): string {
  try {
    return describeValue(named(id).id);
  } catch {
    return describeValue(id);
  }
}

/** A step that could not even be called. It may not be awaited yet, which must not end the process. */
export function rejectedStep(error: unknown): Promise<never> {
  return quietened(Promise.reject(error));
}

/** An error that is never awaited must not end the process. */
function quietened<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** What the calls are for. */
export interface StepHost {
  callStep(call: StepCall): Promise<unknown>;
}

/**
 * Makes a call. Whatever goes wrong becomes a rejection, as everywhere in asynchronous code; with a code, also where a getter
 * or a proxy of the author's threw. A promise where something has to be read first.
 */
export function guarded(id: unknown, make: () => StepCall | Promise<StepCall>, host: StepHost): Promise<unknown> {
  let call: StepCall | Promise<StepCall>;
  try {
    call = make();
  } catch (error) {
    const isCoded = HoldfastError.is(error);
    return rejectedStep(isCoded ? error : invalidStep(id, `it cannot be read: ${messageOf(error)}`, error));
  }
  return call instanceof Promise ? quietened(call.then((made) => host.callStep(made))) : host.callStep(call);
}

/** Why `jsonCopy` made none, to follow a colon. */
export function whyNoCopy(value: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? `it is a ${typeof value}` : depthProblem(value);
  } catch (cause) {
    return jsonFault(value, cause);
  }
}

/** A copy as JSON makes it: what the author changes later, and how it was made, are not seen in it. Undefined where JSON
 * cannot carry it, or not as deep. */
export const jsonCopy = <T>(value: T): T | undefined => jsonCopyAndText(value)?.copy;

/** The same with the text that it was made of. */
export function jsonCopyAndText<T>(value: T): { readonly copy: T; readonly text: string } | undefined {
  try {
    const text = JSON.stringify(value);
    if (jsonNestsDeeperThan(text, WIRE_LIMITS.maxDataDepth)) return undefined;
    return { copy: JSON.parse(text) as T, text };
  } catch {
    return undefined;
  }
}
