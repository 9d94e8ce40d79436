/**
 * Reads the options of one function, each with its rule; what is wrong becomes a `FUNCTION_INVALID`.
 * `function-config.ts` uses it.
 */
import {
  type DurationInput,
  describeValue,
  HoldfastError,
  hasControlCharacter,
  messageOf,
  nearestName,
  parseDurationMs,
} from "@holdfast/core";
import { noOption } from "../options.ts";
import { wireDuration } from "../steps/wire-duration.ts";
import { conditionProblem } from "./condition-text.ts";

const MAX_EXPRESSION_LENGTH = 8192;
const SECOND_MS = 1000;
export const DAY_MS = 86_400_000;

/** Reads the options of one function; whatever is wrong becomes a `FUNCTION_INVALID` that names function and option. */
export class FunctionChecks {
  /** The function, as messages call it. */
  readonly subject: string;

  /** @param options of the function, as they were given */
  constructor(options: unknown) {
    this.subject = subjectOf(options);
  }

  fail(problem: string, cause?: unknown): never {
    throw new HoldfastError("FUNCTION_INVALID", `${this.subject}: ${problem}`, { cause });
  }

  ensure(condition: boolean, problem: string): asserts condition {
    if (!condition) this.fail(problem);
  }

  /** An object without keys beside `known`. */
  object(value: unknown, name: string, known: readonly string[]): Record<string, unknown> {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      this.fail(`\`${name}\` must be an object.`);
    const extra = Object.keys(value).find((key) => !known.includes(key));
    if (extra !== undefined) this.fail(`\`${name}\` ${noOption(extra, known, nearestName)}.`);
    return value as Record<string, unknown>;
  }

  text(value: unknown, name: string, maxLength = 10_000): string {
    if (typeof value !== "string" || value.trim() === "") this.fail(`\`${name}\` must be a non-empty string.`);
    if (value.length > maxLength) this.fail(`\`${name}\` must have at most ${maxLength} characters.`);
    return value;
  }

  /** Text of one line. */
  label(value: unknown, name: string, maxLength: number): string {
    const text = this.text(value, name, maxLength);
    this.ensure(!hasControlCharacter(text), `\`${name}\` contains a control character, such as NUL or a newline.`);
    return text;
  }

  /** A CEL expression, as far as that can be checked without parsing it. */
  expression(value: unknown, name: string): string {
    const text = this.text(value, name, MAX_EXPRESSION_LENGTH);
    const problem = conditionProblem(text);
    this.ensure(problem === null, `\`${name}\` is not a valid CEL expression: ${problem}, in ${describeValue(text)}.`);
    return text;
  }

  integer(value: unknown, name: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < min || value > max) {
      const range = max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `from ${min} to ${max}`;
      this.fail(`\`${name}\` must be an integer ${range}.`);
    }
    return value;
  }

  oneOf<T extends string>(value: unknown, name: string, allowed: readonly T[]): T {
    const match = allowed.find((each) => each === value);
    return match ?? this.fail(`\`${name}\` must be ${allowed.map((each) => `"${each}"`).join(" or ")}.`);
  }

  /** A duration in the form the wire has it. */
  duration(value: unknown, name: string, bounds: { readonly maxMs?: number } = {}): string {
    return wireDuration(this.durationMs(value, name, bounds));
  }

  /** A second or longer. */
  durationMs(value: unknown, name: string, bounds: { readonly maxMs?: number } = {}): number {
    try {
      return parseDurationMs(value as DurationInput, `\`${name}\``, { minMs: SECOND_MS, ...bounds });
    } catch (cause) {
      return this.fail(messageOf(cause), cause);
    }
  }
}

function subjectOf(options: unknown): string {
  const { id } = (options ?? {}) as { readonly id?: unknown };
  if (id === undefined || id === "") return "A function without an id";
  return typeof id === "string" ? `Function "${id.slice(0, 200)}"` : `A function with the id ${describeValue(id)}`;
}

/** The entries whose value is not undefined, in the order given. */
export function compact(entries: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}
