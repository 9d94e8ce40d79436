/** An error as the log gets it: without stacks in which there is nothing to find. What is stored of it stays whole. */
import { foldFrames, type IsOwnFile, isOwnFileBelow, type PlainError, stackFrames } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { ownFolder } from "../own-files.ts";
import type { Thrown } from "./thrown.ts";

/**
 * Without the mark that it has on the wire. An error that Holdfast made of what an author did, or of a step's failure, was
 * thrown where no line of the author's is: its message says where to look. Other errors may be Holdfast's own fault, and
 * keep all.
 */
export function loggedError({ error, failedStep }: Thrown): PlainError {
  const { __serialized: _, ...plain } = error;
  const isMade = plain.code !== undefined || failedStep !== undefined;
  return isMade ? shown(plain) : plain;
}

function shown(error: PlainError): PlainError {
  const { stack, cause, data } = error;
  return {
    ...error,
    ...(stack === undefined ? {} : { stack: withoutOwnFrames(stack) }),
    ...(isPlainError(cause) ? { cause: shown(cause) } : {}),
    // Of an AggregateError.
    ...(Array.isArray(data?.errors) ? { data: { ...data, errors: data.errors.map(shownPart) } } : {}),
  };
}

const shownPart = (part: unknown): unknown => (isPlainError(part) ? shown(part) : part);

function isPlainError(value: unknown): value is PlainError {
  return isRecord(value) && typeof value.name === "string" && typeof value.message === "string";
}

/** Where there are frames of an app, it is whole. */
export function withoutOwnFrames(stack: string, isOwn: IsOwnFile = isOwnFile()): string {
  const frames = stackFrames(stack);
  const [first] = frames;
  const others = frames.filter((frame) => !BUILT_IN.test(frame));
  if (first === undefined || !isFoldedWhole(others, isOwn)) return stack;
  return stack.slice(0, stack.indexOf(first)).trimEnd();
}

const APP = "    at app (/app.js:1:1)";

/** As `JSON.stringify` is. */
const BUILT_IN = / \(<anonymous>\)$/;

/** A frame of the app's own is a line of its own. */
function isFoldedWhole(frames: readonly string[], isOwn: IsOwnFile): boolean {
  const [folded, ...more] = foldFrames([...frames, APP], isOwn);
  return frames.length === 0 || (more.length === 1 && folded?.startsWith("…") === true);
}

let own: IsOwnFile | undefined;

function isOwnFile(): IsOwnFile {
  own ??= isOwnFileBelow(ownFolder());
  return own;
}
