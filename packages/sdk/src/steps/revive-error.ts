/** How an error that was stored, or came over the wire, becomes an `Error` again. */
import type { PlainError } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";

const MAX_DEPTH = 5;

/** An error that arrived as plain data, as an Error again, with its own fields. */
export function reviveError(error: PlainError, depth = 0): Error {
  return restore(new Error(error.message, causeOption(error, depth)), error, depth);
}

export function restore<E extends Error>(target: E, error: PlainError, depth: number): E {
  const { name, stack, code, data } = error;
  for (const [key, value] of Object.entries(isRecord(data) ? data : {})) {
    // What an Error has itself, or its class has set, stays.
    if (key === "name" || key === "message" || key === "stack" || key === "cause" || key in target) continue;
    const isErrors = key === "errors" && Array.isArray(value);
    const own = isErrors ? value.map((each) => causeOf(each, depth)) : value;
    Object.defineProperty(target, key, { value: own, enumerable: !isErrors, writable: true, configurable: true });
  }
  Object.defineProperty(target, "name", { value: name, writable: true, configurable: true });
  if (stack) target.stack = stack;
  if (code !== undefined) {
    Object.defineProperty(target, "code", { value: code, enumerable: true, writable: true, configurable: true });
  }
  // Of a run that undid its steps.
  const { compensation } = error as { readonly compensation?: unknown };
  if (isRecord(compensation)) Object.assign(target, { compensation });
  return target;
}

export function causeOption({ cause }: PlainError, depth: number): { cause: unknown } | undefined {
  return cause === undefined ? undefined : { cause: causeOf(cause, depth) };
}

function causeOf(cause: unknown, depth: number): unknown {
  return isPlainError(cause) && depth < MAX_DEPTH ? reviveError(cause, depth + 1) : cause;
}

export function isPlainError(value: unknown): value is PlainError {
  return isRecord(value) && typeof value.message === "string" && typeof value.name === "string";
}
