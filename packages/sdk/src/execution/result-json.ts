/**
 * Results and errors as JSON: what cannot be stored is refused by name, what is too long is cut, and code sees the
 * same value now and on replay.
 */
import { HoldfastError, messageOf, type PlainError, toPlainError } from "@holdfast/core";
import { jsonNestsDeeperThan, WIRE_LIMITS } from "@holdfast/protocol";
import { depthProblem } from "../events/json-depth.ts";
import { jsonFault } from "../events/json-fault.ts";
import type { JsonLoss } from "../events/json-loss.ts";
import { carriedError } from "./carried-error.ts";

/** A value as JSON. `undefined` becomes null and is marked. */
export interface ResultJson {
  readonly text: string;
  readonly isUndefined: boolean;
  /** Set where it comes back from JSON as it was: it need not be read. */
  readonly same?: string;
  /** `text` is `same` between quotes, and may be written in these parts. */
  readonly isPlain?: true;
  /** Of a body that ran in another thread: what JSON keeps less of than it may seem. */
  readonly loss?: JsonLoss;
}

/** From this length on a text is not copied without need. */
export const LONG_CHARS = 16 * 1024;

/** Control characters and surrogates, which alone are escaped, are outside of these. */
const NOT_PLAIN = /[^ -\ud7ff\ue000-\uffff]/;

/** Whether JSON has this text as it is, between quotes. It costs a fifth of what `JSON.stringify` does. */
const isPlain = (text: string): boolean =>
  !text.includes('"') && !text.includes("\\") && (isPrintable(text) || !NOT_PLAIN.test(text));

const utf8 = new TextEncoder();
const WORDS = 4 * 1024;
/** A part of a text as bytes. */
let part: { readonly bytes: Uint8Array; readonly words: Int32Array } | undefined;

/** Whether it is ASCII without control characters: four characters at a time, in half of the time of an expression. */
function isPrintable(text: string): boolean {
  part ??= partOf(new Int32Array(WORDS));
  const { bytes, words } = part;
  for (let from = 0; from < text.length; from += bytes.length) {
    const { read, written } = utf8.encodeInto(text.slice(from, from + bytes.length), bytes);
    if (read !== Math.min(bytes.length, text.length - from) || read !== written) return false;
    bytes.fill(0x20, written);
    let below = 0;
    for (let at = 0; at < WORDS; at += 4) {
      below |= lowBytes(words[at] as number) | lowBytes(words[at + 1] as number);
      below |= lowBytes(words[at + 2] as number) | lowBytes(words[at + 3] as number);
    }
    if ((below & 0x80808080) !== 0) return false;
  }
  return true;
}

const partOf = (words: Int32Array): NonNullable<typeof part> => ({ bytes: new Uint8Array(words.buffer), words });

/** Of the lowest byte below 0x20 the highest bit is set; all are below 0x80. */
const lowBytes = (word: number): number => (word - 0x20202020) & ~word;

/**
 * @param what names the step or function in the message
 * @throws HoldfastError `STEP_RESULT_INVALID`, `STEP_RESULT_TOO_LARGE`
 */
export function encodeResult(value: unknown, what: string): ResultJson {
  if (value === undefined) return { text: "null", isUndefined: true };
  if (typeof value === "string" && value.length >= LONG_CHARS && isPlain(value)) {
    checkSize(value, 2, what);
    return { text: `"${value}"`, isUndefined: false, same: value, isPlain: true };
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw unusableResult(what, jsonFault(value, cause), cause);
  }
  if (text === undefined) throw unusableResult(what, `it is a ${typeof value}`);
  if (jsonNestsDeeperThan(text, WIRE_LIMITS.maxDataDepth)) {
    throw unusableResult(what, depthProblem(value));
  }
  checkSize(text, 0, what);
  return typeof value === "string" ? { text, isUndefined: false, same: value } : { text, isUndefined: false };
}

function checkSize(text: string, moreBytes: number, what: string): void {
  const { maxOutputBytes } = WIRE_LIMITS;
  // A UTF-16 unit becomes at most three bytes, so most results need no counting.
  if (text.length * 3 + moreBytes <= maxOutputBytes) return;
  const bytes = Buffer.byteLength(text) + moreBytes;
  if (bytes <= maxOutputBytes) return;
  throw new HoldfastError(
    "STEP_RESULT_TOO_LARGE",
    `The result of ${what} has ${bytes} bytes; the limit is ${maxOutputBytes}. Store it elsewhere and return a reference.`,
  );
}

export function unusableResult(what: string, reason: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "STEP_RESULT_INVALID",
    `The result of ${what} cannot be stored as JSON: ${reason}. Return plain data.`,
    { cause },
  );
}

/**
 * Whether the result of a body is to be awaited.
 * @param what names the step in the message
 * @throws HoldfastError `STEP_RESULT_INVALID` where it cannot be read
 */
export function isLater(value: unknown, what: string): boolean {
  const kind = typeof value;
  if ((kind !== "object" && kind !== "function") || value === null) return false;
  try {
    return typeof (value as { then?: unknown }).then === "function";
  } catch (cause) {
    throw unusableResult(what, messageOf(cause), cause);
  }
}

/** What the value is after a trip through storage, so that code sees the same now and on replay. */
export function decodeResult({ text, isUndefined, same }: ResultJson): unknown {
  return isUndefined ? undefined : (same ?? JSON.parse(text));
}

const MAX_TEXT = 64 * 1024;

/** An error as the wire has it. Very long messages and stacks are cut: an error must always fit a frame. */
export function errorObject(thrown: unknown): PlainError & { readonly __serialized: true } {
  const plain = shorten(toPlainError(carriedError(thrown)));
  return { ...plain, __serialized: true };
}

function shorten(error: PlainError): PlainError {
  const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}... (cut)` : text);
  const { name, message, stack, code, cause, data } = error;
  return {
    name: cut(name),
    message: cut(message),
    ...(code === undefined ? {} : { code: cut(code) }),
    ...(stack === undefined ? {} : { stack: cut(stack) }),
    ...(cause === undefined ? {} : { cause: isPlainError(cause) ? shorten(cause) : small(cause) }),
    ...(data === undefined ? {} : { data: small(data) as Record<string, unknown> }),
  };
}

function small(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text !== undefined && text.length > MAX_TEXT ? { note: `${text.length} characters omitted` } : value;
}

function isPlainError(value: unknown): value is PlainError {
  const candidate = value as Partial<PlainError> | null;
  return typeof candidate === "object" && typeof candidate?.message === "string" && typeof candidate.name === "string";
}
