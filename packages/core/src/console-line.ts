/**
 * A log line as a console shows it: name and level, the message, then the fields, and the stack of an error below, once.
 * Loggers of other kinds get the data as it is (`logger.ts`).
 */
import { isShownError, partsOf, type ShownError } from "./error-parts.ts";
import type { LogRecord } from "./log-record.ts";
import { foldFrames, type IsOwnFile, isInstalledHoldfast, stackFrames } from "./stack-text.ts";

/** Fields that are shown below the line, and those that its message says in words. */
const BELOW: ReadonlySet<string> = new Set(["err", "stack"]);
const MAX_REMEMBERED = 200;
const MAX_FRAMES = 12;
/** Of causes and parts within each other. */
const MAX_DEPTH = 3;
const MAX_FIELD_CHARS = 500;

/** Writes lines for one console. It remembers which stacks it has shown. */
export class ConsoleLines {
  /** Of Holdfast, beside what is installed. */
  isOwnFile: IsOwnFile = isInstalledHoldfast;
  readonly #shown = new Set<string>();

  lineOf({ level, message, data = {}, inWords = [] }: LogRecord): string {
    const fields = Object.entries(data)
      .filter(([key, value]) => value !== undefined && value !== null && !BELOW.has(key) && !inWords.includes(key))
      .map(([key, value]) => `${key}=${fieldText(value)}`);
    const line = `holdfast ${level}: ${message}${fields.length === 0 ? "" : `  ${fields.join(" ")}`}`;
    return [line, ...this.#below(data)].join("\n");
  }

  #below(data: Readonly<Record<string, unknown>>): readonly string[] {
    const { err, stack, runId } = data;
    const lines = isShownError(err) ? this.#errorLines(err) : framesBelow(stack, this.isOwnFile);
    const key = `${String(runId)}\n${lines.filter((line) => !isFolded(line)).join("\n")}`;
    if (lines.length === 0 || this.#shown.has(key)) return [];
    this.#shown.add(key);
    const [oldest] = this.#shown;
    if (this.#shown.size > MAX_REMEMBERED && oldest !== undefined) this.#shown.delete(oldest);
    return lines;
  }

  #errorLines(error: ShownError): readonly string[] {
    return [...framesBelow(error.stack, this.isOwnFile), ...this.#partLines(error, 0, "")];
  }

  /** Causes stand below each other; what is in an error of several is indented, so that the next one is not taken for it. */
  #partLines(error: ShownError, depth: number, indent: string): readonly string[] {
    if (depth >= MAX_DEPTH) return [];
    return partsOf(error).flatMap(({ heading, error: part, isCause }) => [
      `${indent}    ${heading}`,
      ...framesBelow(part?.stack, this.isOwnFile).map((frame) => `${indent}${frame}`),
      ...(part ? this.#partLines(part, depth + 1, isCause ? indent : `${indent}  `) : []),
    ]);
  }
}

/** How many frames lie between two of the app's depends on timing. */
const isFolded = (line: string): boolean => line.trimStart().startsWith("…");

function framesBelow(stack: unknown, isOwn: IsOwnFile): readonly string[] {
  const frames = typeof stack === "string" ? stackFrames(stack) : [];
  const lines = foldFrames(frames, isOwn);
  const shown = lines.slice(0, MAX_FRAMES).map((line) => `      ${line}`);
  return lines.length > MAX_FRAMES ? [...shown, `      … ${lines.length - MAX_FRAMES} more`] : shown;
}

function fieldText(value: unknown): string {
  if (typeof value === "string") return value !== "" && !/[\s"]/.test(value) ? value : JSON.stringify(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // Not data after all.
  }
  if (text === undefined) return String(typeof value);
  return text.length > MAX_FIELD_CHARS ? `${text.slice(0, MAX_FIELD_CHARS)}...` : text;
}
