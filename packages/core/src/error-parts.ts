/**
 * What an error has in it besides itself, for people who read it: its cause, and the errors of an AggregateError, as
 * `Promise.any` throws it. Neither its message nor its stack has them. For log lines and the command line.
 */

/** What is shown of an error; `PlainError` is one. */
export interface ShownError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: unknown;
}

/** A line below an error, and the error that it begins. */
export interface ErrorPart {
  /** `caused by ...`, `error 2: ...`, `and 3 more errors`. */
  readonly heading: string;
  /** Absent where errors are only counted. */
  readonly error?: ShownError;
  readonly isCause: boolean;
}

const MAX_ERRORS = 5;

/** The cause, and the first few errors of an AggregateError. */
export function partsOf(error: ShownError): readonly ErrorPart[] {
  const { cause } = error;
  const errors = errorsOf(error);
  const more = errors.length - MAX_ERRORS;
  return [
    ...(isShownError(cause) ? [{ heading: `caused by ${headOf(cause)}`, error: cause, isCause: true }] : []),
    ...errors
      .slice(0, MAX_ERRORS)
      .map((each, index) => ({ heading: `error ${index + 1}: ${headOf(each)}`, error: each, isCause: false })),
    ...(more > 0 ? [{ heading: `and ${more} more ${more === 1 ? "error" : "errors"}`, isCause: false }] : []),
  ];
}

/** An error in a line: its name, where that says something, and the first line of its message. */
export function headOf({ name, message }: Pick<ShownError, "name" | "message">): string {
  const [first = ""] = message.split("\n");
  if (first === "") return name;
  return name === "Error" || name === "" ? first : `${name}: ${first}`;
}

/** An `Error` has them itself, one that travelled has them in its data. */
function errorsOf(error: ShownError): readonly ShownError[] {
  const { errors, data } = error as { readonly errors?: unknown; readonly data?: { readonly errors?: unknown } | null };
  const found = Array.isArray(errors) ? errors : data?.errors;
  return Array.isArray(found) ? found.filter(isShownError) : [];
}

export function isShownError(value: unknown): value is ShownError {
  const candidate = value as Partial<ShownError> | null | undefined;
  return typeof candidate === "object" && typeof candidate?.message === "string" && typeof candidate.name === "string";
}
