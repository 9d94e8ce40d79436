/** Reads a thrown value exactly once, whatever it is: error classes, plain objects, getters that throw. */
import type { PlainError } from "@holdfast/core";
import { isFinalError, RetryAfterError, StepError } from "../steps/errors.ts";
import { errorObject } from "./result-json.ts";

/** All that is asked of something that was thrown. */
export interface Thrown {
  readonly error: PlainError & { readonly __serialized: true };
  /** Another try would fail as well: asked for by the author, or a mistake in the code. */
  readonly isFinal: boolean;
  readonly isStepError: boolean;
  /** Of a `StepError`: the step that failed. */
  readonly failedStep?: string;
  /** Whole seconds, or an ISO 8601 instant. */
  readonly retryAfter?: string;
}

const MAX_RETRY_AFTER_LENGTH = 100;

/**
 * Looks at what was thrown, once: a getter may answer otherwise the next time, or throw. What cannot be read is an error of
 * ours in its place.
 */
export function readThrown(raw: unknown): Thrown {
  try {
    const isFinal = isFinalError(raw);
    const retryAfter = RetryAfterError.is(raw) ? (raw.retryAfter as unknown) : undefined;
    const isStepError = StepError.is(raw);
    const failedStep = isStepError ? (raw.stepId as unknown) : undefined;
    const isUsable = typeof retryAfter === "string" && retryAfter.length <= MAX_RETRY_AFTER_LENGTH;
    return {
      error: errorObject(raw),
      isFinal,
      isStepError,
      ...(typeof failedStep === "string" ? { failedStep } : {}),
      ...(isUsable ? { retryAfter } : {}),
    };
  } catch {
    const error = errorObject(new Error("A value was thrown that could not be read."));
    return { error, isFinal: false, isStepError: false };
  }
}
