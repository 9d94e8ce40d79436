/** Checks of registered settings that name the function and the setting in their errors. */
import { HoldfastError, messageOf, parseDurationMs, unstorableIn } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { compileExpression } from "../expressions/expression.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** Reads what an app registered for one function; whatever is wrong becomes a `FUNCTION_INVALID` that names it. */
export class SettingsChecks {
  readonly #slug: string;

  constructor(slug: string) {
    this.#slug = slug;
  }

  fail(problem: string): never {
    throw new HoldfastError("FUNCTION_INVALID", `Function "${this.#slug}": ${problem}`);
  }

  record(value: unknown, name: string): Fields {
    return isRecord(value) ? value : this.fail(`\`${name}\` must be an object.`);
  }

  list(value: unknown, name: string, max: number): readonly unknown[] {
    if (!Array.isArray(value)) return this.fail(`\`${name}\` must be an array.`);
    if (value.length > max) this.fail(`\`${name}\` has ${value.length} entries; the limit is ${max}.`);
    return value;
  }

  text(value: unknown, name: string, max: number): string {
    if (typeof value !== "string" || value.trim() === "") return this.fail(`\`${name}\` must be a non-empty string.`);
    if (value.length > max) this.fail(`\`${name}\` has more than ${max} characters.`);
    const problem = unstorableIn(value);
    if (problem !== null) this.fail(`\`${name}\` contains ${problem}.`);
    return value;
  }

  integer(value: unknown, name: string, min: number): number {
    if (!Number.isSafeInteger(value) || (value as number) < min) {
      return this.fail(`\`${name}\` must be an integer ≥ ${min}.`);
    }
    return value as number;
  }

  oneOf<T extends string>(value: unknown, name: string, allowed: readonly T[]): T {
    const found = allowed.find((one) => one === value);
    return found ?? this.fail(`\`${name}\` must be ${allowed.map((one) => `"${one}"`).join(" or ")}.`);
  }

  durationMs(value: unknown, name: string, minMs: number, maxMs?: number): number {
    if (typeof value !== "string" && typeof value !== "number") return this.fail(`\`${name}\` must be a duration.`);
    try {
      return parseDurationMs(value, `\`${name}\``, { minMs, ...(maxMs === undefined ? {} : { maxMs }) });
    } catch (error) {
      return this.fail(messageOf(error));
    }
  }

  expression(value: unknown, name: string): string {
    const source = this.text(value, name, 8192);
    try {
      compileExpression(source);
    } catch (error) {
      this.fail(`\`${name}\`: ${messageOf(error)}`);
    }
    return source;
  }

  /** Null when it is not given. */
  optional<T>(value: unknown, read: (value: unknown) => T): T | null {
    return value === undefined || value === null ? null : read(value);
  }
}
