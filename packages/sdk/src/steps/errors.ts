/** The errors that handlers throw and catch, and how one that was stored becomes an `Error` again. */
import { type ErrorCode, formatSingleUnit, HoldfastError, type PlainError, parseDurationMs } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";
import { instantOf } from "./points-in-time.ts";
import { causeOption, restore } from "./revive-error.ts";

const NON_RETRIABLE = Symbol.for("holdfast.nonRetriable");
const RETRY_AFTER = Symbol.for("holdfast.retryAfter");
const STEP_ERROR = Symbol.for("holdfast.stepError");
const INVOKE_ERROR = Symbol.for("holdfast.invokeError");
const INVOKE_TIMEOUT = Symbol.for("holdfast.invokeTimeout");

/** False where looking throws, as some getters and proxies do. */
function looks(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}

const branded = (value: unknown, brand: symbol): boolean =>
  looks(() => typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true);

const hasCode = (value: unknown, code: ErrorCode): boolean =>
  looks(() => typeof value === "object" && value !== null && (value as { code?: unknown }).code === code);

const hasName = (value: unknown, name: string): boolean => looks(() => value instanceof Error && value.name === name);

const brand = (error: Error, mark: symbol): void => {
  Object.defineProperty(error, mark, { value: true });
};

/** Thrown by a step or function: do not try again. */
export class NonRetriableError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "NonRetriableError";
    brand(this, NON_RETRIABLE);
  }

  /** Recognises errors of other copies of this package, and those of the same name of the `inngest` package. */
  static is(value: unknown): value is NonRetriableError {
    return branded(value, NON_RETRIABLE) || hasName(value, "NonRetriableError");
  }
}

/** Thrown by a step or function: try again, but not before this. */
export class RetryAfterError extends Error {
  /** Whole seconds, or an ISO 8601 instant. */
  readonly retryAfter: string;

  /**
   * @param retryAfter milliseconds, text such as "30s" or an ISO 8601 instant, or a Date
   * @throws HoldfastError `DURATION_INVALID`
   */
  constructor(message: string, retryAfter: number | string | Date, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "RetryAfterError";
    this.retryAfter = retryAfterText(retryAfter);
    brand(this, RETRY_AFTER);
  }

  /** Recognises errors of other copies of this package, and those of the same name of the `inngest` package. */
  static is(value: unknown): value is RetryAfterError {
    if (branded(value, RETRY_AFTER)) return true;
    const isText = (): boolean => typeof (value as RetryAfterError).retryAfter === "string";
    return hasName(value, "RetryAfterError") && looks(isText);
  }
}

function retryAfterText(input: number | string | Date): string {
  return instantOf(input) ?? String(Math.ceil(parseDurationMs(input as number | string, "retryAfter") / 1000));
}

/**
 * What code that awaits a step gets when the step failed permanently: the original's name, message, stack, cause and own
 * fields.
 */
export class StepError extends Error {
  /** The step's id as its author wrote it, with the index of a repeat. */
  readonly stepId: string;

  constructor(stepId: string, error: PlainError) {
    super(error.message, causeOption(error, 0));
    this.stepId = stepId;
    restore(this, error, 0);
    brand(this, STEP_ERROR);
  }

  static is(value: unknown): value is StepError {
    return branded(value, STEP_ERROR);
  }
}

/** What code that awaits `step.invoke` gets when the invoked function failed: that failure's name, message, cause ... */
export class InvokeError extends StepError {
  /** The slug of the invoked function. */
  readonly functionId: string;

  constructor(stepId: string, functionId: string, error: PlainError) {
    super(stepId, error);
    this.functionId = functionId;
    brand(this, INVOKE_ERROR);
  }

  static override is(value: unknown): value is InvokeError {
    return branded(value, INVOKE_ERROR);
  }
}

/** The invoked function did not end in time; it goes on. */
export class InvokeTimeoutError extends InvokeError {
  constructor(stepId: string, functionId: string, error: PlainError) {
    super(stepId, functionId, error);
    this.name = "InvokeTimeoutError";
    Object.defineProperty(this, "code", { value: "INVOKE_TIMEOUT", enumerable: true, configurable: true });
    brand(this, INVOKE_TIMEOUT);
  }

  static override is(value: unknown): value is InvokeTimeoutError {
    return branded(value, INVOKE_TIMEOUT);
  }
}

// In a pool thread the error comes from another copy of this package than the class that the handler asks for.
for (const own of [StepError, InvokeError, InvokeTimeoutError]) {
  const value = function hasInstance(this: unknown, error: unknown): boolean {
    return this === own ? own.is(error) : Function.prototype[Symbol.hasInstance].call(this, error);
  };
  Object.defineProperty(own, Symbol.hasInstance, { value });
}

/** The name or code under which gateways report an invoked function that took too long. */
const INVOKE_TIMEOUT_NAMES: ReadonlySet<unknown> = new Set(["InngestInvokeTimeoutError", "InvokeTimeoutError"]);

export function invokeErrorOf(stepId: string, functionId: string, error: PlainError): InvokeError {
  const isTimeout = INVOKE_TIMEOUT_NAMES.has(error.name) || error.code === "INVOKE_TIMEOUT";
  return new (isTimeout ? InvokeTimeoutError : InvokeError)(stepId, functionId, error);
}

/** What became of the compensations; part of the error with which a run fails, or was cancelled meanwhile. */
export interface CompensationReport {
  /** Ids of the steps that were undone, in that order. */
  readonly undone: readonly string[];
  readonly failed: readonly {
    readonly stepId: string;
    readonly error: { readonly name: string; readonly message: string; readonly stack?: string };
  }[];
  /**
   * Finished steps without a stored result of their compensation: the run was stopped before, or the code has none any
   * more. Where the run was stopped, the compensation of one of them, as a rule of the first, may have begun: look at the
   * other system before you undo that step by hand.
   */
  readonly notRun: readonly string[];
}

/** A step was called inside the body of another one. */
export class StepNestedError extends HoldfastError {
  constructor(inner: string, outer: string) {
    super(
      "STEP_NESTED",
      `Step "${inner}" was called inside the body of step "${outer}". Steps cannot be nested: end "${outer}" first, or do the work of "${inner}" in it without a step.`,
    );
    this.name = "StepNestedError";
    brand(this, NON_RETRIABLE);
  }

  /** Also recognises one that comes back from the store, as in `onFailure`. */
  static override is(value: unknown): value is StepNestedError {
    return hasCode(value, "STEP_NESTED");
  }
}

/** Code of one run has called a step of another one, whose `step` it must have kept. */
export function foreignStep(step: string, runId: string, ownRunId: string): HoldfastError {
  const error = new HoldfastError(
    "STEP_FOREIGN",
    `Step ${step} was called by code of the run ${ownRunId} on the \`step\` of the run ${runId}. Use the \`step\` that the handler was given for its own run: pass it on as an argument, and do not keep it where other runs find it.`,
  );
  brand(error, NON_RETRIABLE);
  return error;
}

/** The code asks for more steps than a run may have. */
export function tooManySteps(step: string): HoldfastError {
  const { maxStepsPerRun } = WIRE_LIMITS;
  return new HoldfastError(
    "RUN_TOO_LARGE",
    `The run has more than ${maxStepsPerRun} steps: step ${step} was not started. Split the work over several runs.`,
  );
}

/** A replay met another step than the one that is on record there. */
export class NonDeterminismError extends HoldfastError {
  readonly recorded: string;
  readonly found: string;

  constructor(recorded: string, found: string) {
    super(
      "NON_DETERMINISM",
      `The run recorded ${recorded}, where the code now has ${found}. While runs are in flight, keep ids, kinds and order of their finished steps; to change them, branch on \`version\`.`,
    );
    this.name = "NonDeterminismError";
    this.recorded = recorded;
    this.found = found;
    brand(this, NON_RETRIABLE);
  }

  /** Also recognises one that comes back from the store, as in `onFailure`. */
  static override is(value: unknown): value is NonDeterminismError {
    return hasCode(value, "NON_DETERMINISM");
  }
}

/** The run was not done at its deadline. */
export class RunDeadlineError extends HoldfastError {
  readonly deadlineMs: number;

  constructor(deadlineMs: number) {
    super("RUN_DEADLINE_EXCEEDED", `The run's deadline, ${new Date(deadlineMs).toISOString()}, has passed.`);
    this.name = "RunDeadlineError";
    this.deadlineMs = deadlineMs;
    brand(this, NON_RETRIABLE);
  }

  /** Also recognises one that comes back from the store, as in `onFailure`. */
  static override is(value: unknown): value is RunDeadlineError {
    return hasCode(value, "RUN_DEADLINE_EXCEEDED");
  }
}

/** An attempt of a step took longer than its `timeout`. It is tried again as after any error. */
export class StepTimeoutError extends HoldfastError {
  /** The step's id as its author wrote it, with the index of a repeat. */
  readonly stepId: string;
  readonly timeoutMs: number;

  constructor(stepId: string, timeoutMs: number) {
    super(
      "STEP_TIMEOUT",
      `Step "${stepId}" had not ended after ${formatSingleUnit(timeoutMs)} (\`timeout\`). What it comes to later is not used.`,
    );
    this.name = "StepTimeoutError";
    this.stepId = stepId;
    this.timeoutMs = timeoutMs;
  }

  /** Also recognises the `StepError` of a step whose last attempt failed so, and one that comes back from the store. */
  static override is(value: unknown): value is StepTimeoutError {
    return hasCode(value, "STEP_TIMEOUT");
  }
}

const FINAL_CODES: ReadonlySet<string> = new Set([
  "DURATION_INVALID",
  "STEP_INVALID",
  "STEP_NESTED",
  "STEP_FOREIGN",
  "ISOLATE_VALUE_INVALID",
  "STEP_RESULT_INVALID",
  "STEP_RESULT_TOO_LARGE",
  "RUN_TOO_LARGE",
  "NON_DETERMINISM",
  "EVENT_INVALID",
  "OPTION_MISSING",
  "OPTION_INVALID",
  "GATEWAY_UNSUPPORTED",
]);

/** Retrying will not help: asked for by the author, or a mistake in the code. */
export function isFinalError(error: unknown): boolean {
  if (NonRetriableError.is(error) || branded(error, NON_RETRIABLE)) return true;
  return HoldfastError.is(error) && FINAL_CODES.has(error.code);
}
