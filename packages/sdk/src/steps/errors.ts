import { HoldfastError, type PlainError, parseDurationMs } from "@holdfast/core";

const NON_RETRIABLE = Symbol.for("holdfast.nonRetriable");
const RETRY_AFTER = Symbol.for("holdfast.retryAfter");
const STEP_ERROR = Symbol.for("holdfast.stepError");

const branded = (value: unknown, brand: symbol): boolean =>
  typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;

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
    return branded(value, NON_RETRIABLE) || (value instanceof Error && value.name === "NonRetriableError");
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
    const { name, retryAfter } = (value ?? {}) as { name?: unknown; retryAfter?: unknown };
    return value instanceof Error && name === "RetryAfterError" && typeof retryAfter === "string";
  }
}

function retryAfterText(input: number | string | Date): string {
  const instant = instantOf(input);
  if (instant !== undefined) return instant;
  return String(Math.ceil(parseDurationMs(input as number | string, "retryAfter") / 1000));
}

/** ISO text for a Date or for text that starts like an ISO 8601 date; undefined for anything else. */
export function instantOf(input: unknown): string | undefined {
  const isDate = input instanceof Date;
  if (!isDate && !(typeof input === "string" && /^\d{4}-\d{2}-\d{2}/.test(input))) return undefined;
  const date = isDate ? input : new Date(input as string);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  throw new HoldfastError(
    "DURATION_INVALID",
    `Not a point in time: ${String(input)}. Give a valid Date or ISO 8601 text.`,
  );
}

/** What code that awaits a step gets when the step failed for good: the original's name, message, stack and cause. */
export class StepError extends Error {
  /** The step's id as its author wrote it, with the index of a repeat. */
  readonly stepId: string;

  constructor(stepId: string, error: PlainError) {
    super(error.message, error.cause === undefined ? undefined : { cause: causeOf(error.cause, 0) });
    this.name = error.name;
    this.stepId = stepId;
    if (error.stack) this.stack = error.stack;
    if (error.code !== undefined) Object.defineProperty(this, "code", { value: error.code, enumerable: true });
    brand(this, STEP_ERROR);
  }

  static is(value: unknown): value is StepError {
    return branded(value, STEP_ERROR);
  }
}

/** An error that arrived as plain data, as an Error again. */
export function reviveError(error: PlainError, depth = 0): Error {
  const revived = new Error(
    error.message,
    error.cause === undefined ? undefined : { cause: causeOf(error.cause, depth) },
  );
  revived.name = error.name;
  if (error.stack) revived.stack = error.stack;
  if (error.code !== undefined) Object.assign(revived, { code: error.code });
  if (error.data !== undefined) Object.assign(revived, { data: error.data });
  return revived;
}

function causeOf(cause: unknown, depth: number): unknown {
  const plain = cause as Partial<PlainError> | null;
  const isError = typeof plain === "object" && typeof plain?.message === "string" && typeof plain.name === "string";
  return isError && depth < 5 ? reviveError(plain as PlainError, depth + 1) : cause;
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
}

/** A replay met another step than the one that is recorded. */
export class NonDeterminismError extends HoldfastError {
  readonly recorded: string;
  readonly found: string;

  constructor(recorded: string, found: string) {
    super(
      "NON_DETERMINISM",
      `The run has the step ${recorded} on record where the code now has ${found}. Keep ids and kinds of steps while runs are in flight, or give changed steps new ids.`,
    );
    this.name = "NonDeterminismError";
    this.recorded = recorded;
    this.found = found;
    brand(this, NON_RETRIABLE);
  }
}

const FINAL_CODES: ReadonlySet<string> = new Set([
  "STEP_INVALID",
  "STEP_NESTED",
  "STEP_RESULT_INVALID",
  "STEP_RESULT_TOO_LARGE",
  "NON_DETERMINISM",
  "EVENT_INVALID",
  "OPTION_MISSING",
  "OPTION_INVALID",
]);

/** Trying again cannot cure it: asked for by the author, or a mistake in the code. */
export function isFinalError(error: unknown): boolean {
  if (NonRetriableError.is(error) || branded(error, NON_RETRIABLE)) return true;
  return HoldfastError.is(error) && FINAL_CODES.has(error.code);
}
