/**
 * A log line as a console shows it: name and level, the message, then the fields, and the stack of an error below, once.
 * Loggers of other kinds get the data as it is (`logger.ts`).
 */
import type { LogRecord } from "./log-record.ts";
import { foldFrames, type IsOwnFile, isInstalledHoldfast, stackFrames } from "./stack-text.ts";

/** What the line of an error shows of it; `PlainError` is one. */
interface ShownError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: unknown;
}

/** Fields that are shown below the line, and those that its message says in words. */
const BELOW: ReadonlySet<string> = new Set(["err", "stack"]);
const MAX_REMEMBERED = 200;
const MAX_FRAMES = 12;
const MAX_CAUSES = 3;
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
    const lines = [...framesBelow(error.stack, this.isOwnFile)];
    let { cause } = error;
    for (let depth = 0; depth < MAX_CAUSES && isShownError(cause); depth += 1) {
      lines.push(`    caused by ${headOf(cause)}`, ...framesBelow(cause.stack, this.isOwnFile));
      cause = cause.cause;
    }
    return lines;
  }
}

/** How many frames lie between two of the app's depends on timing. */
const isFolded = (line: string): boolean => line.trimStart().startsWith("…");

/** An error in a line: its name, where that says something, and the first line of its message. */
export function headOf({ name, message }: Pick<ShownError, "name" | "message">): string {
  const [first = ""] = message.split("\n");
  if (first === "") return name;
  return name === "Error" || name === "" ? first : `${name}: ${first}`;
}

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

function isShownError(value: unknown): value is ShownError {
  const candidate = value as Partial<ShownError> | null | undefined;
  return typeof candidate === "object" && typeof candidate?.message === "string" && typeof candidate.name === "string";
}
