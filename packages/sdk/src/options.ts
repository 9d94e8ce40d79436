/**
 * How options are read, whatever they are for: argument, environment variable, default, check. Tables of rows
 * (`client-option-table.ts`, `connect-option-table.ts`) use the parsers here.
 */
import {
  type DurationInput,
  describeValue,
  HoldfastError,
  hasControlCharacter,
  LOG_LEVEL_CHOICES,
  LOG_LEVELS,
  type LoggerLike,
  type LogLevelChoice,
  messageOf,
  parseDurationMs,
} from "@holdfast/core";

/** The environment that options are read from; `process.env` unless a test says otherwise. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Turns a raw value into what the option means, or throws `invalidOption(...)`. `source` is what the message calls it. */
export type OptionParser<T> = (value: unknown, source: string) => T;

export interface OptionSource<T> {
  /** The option's name, as the user writes it. */
  readonly name: string;
  /** What the user passed. */
  readonly given: unknown;
  /**
   * Variables that stand for it, first match wins. A name that starts with "_" is looked up as `HOLDFAST_...` and then as
   * `INNGEST_...`; all `HOLDFAST_` names come before all `INNGEST_` names. Others are taken as they are, last.
   */
  readonly variables?: readonly string[];
  readonly parse: OptionParser<T>;
}

/** The argument, else `HOLDFAST_*`, else `INNGEST_*`, else undefined. Empty variables count as unset. */
export function readOption<T>(source: OptionSource<T>, env: Environment): T | undefined {
  if (source.given !== undefined) return source.parse(source.given, `the option \`${source.name}\``);
  for (const variable of variableNames(source.variables ?? [])) {
    const value = env[variable]?.trim();
    if (value) return source.parse(value, `the environment variable ${variable}`);
  }
  return undefined;
}

/** Which of the variables the value comes from where none was passed. */
export function variableRead(variables: readonly string[], env: Environment): string | undefined {
  return variableNames(variables).find((name) => env[name]?.trim());
}

function variableNames(variables: readonly string[]): string[] {
  const families = variables.filter((name) => name.startsWith("_"));
  return [
    ...families.map((name) => `HOLDFAST${name}`),
    ...families.map((name) => `INNGEST${name}`),
    ...variables.filter((name) => !name.startsWith("_")),
  ];
}

export function invalidOption(source: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("OPTION_INVALID", `${capitalised(source)} ${problem}`, { cause });
}

/**
 * @param what takes them
 * @param nearest finds what a mistyped name was meant to be; not given where options are few
 * @throws HoldfastError `OPTION_INVALID` when `options` has a key that is not `known`
 */
export function checkKnown(what: string, options: object, known: readonly string[], nearest?: FindNearest): void {
  const extra = Object.keys(options).find((key) => !known.includes(key));
  if (extra === undefined) return;
  throw new HoldfastError("OPTION_INVALID", `${what} ${noOption(extra, known, nearest)}.`);
}

type FindNearest = (given: string, names: readonly string[]) => string | undefined;

/** What a message says of an option that there is not. */
export function noOption(extra: string, known: readonly string[], nearest?: FindNearest): string {
  const near = nearest?.(extra, known);
  const list = known.map((key) => `\`${key}\``).join(", ");
  return `has no option \`${extra}\`${near === undefined ? "" : ` (did you mean \`${near}\`?)`}; valid options: ${list}`;
}

/**
 * One option, written once: which variables stand for it, what is taken, what it is when nothing is given. What is known,
 * what is read and the tables of the README come from the rows of a table of these.
 */
export interface OptionRow<T = unknown> {
  readonly variables?: readonly string[];
  readonly parse: OptionParser<T>;
  /** As a user would write it; absent: undefined. */
  readonly default?: unknown;
}

export interface DocumentedRow extends OptionRow {
  /** For the README: what it is for, and its default where the value does not say it. */
  readonly doc: string;
}

/** A row for each option of a type; none more, none less. */
export type OptionTable<Options, Row extends OptionRow = DocumentedRow> = {
  readonly [Name in keyof Required<Options>]: Row;
};

type ResolvedRow<Row> = Row extends { readonly parse: OptionParser<infer T> }
  ? Row extends { readonly default: unknown }
    ? T
    : T | undefined
  : never;

export type ResolvedTable<Table> = { readonly [Name in keyof Table]: ResolvedRow<Table[Name]> };

/** What one option comes to: the argument, its variables, its default. */
export function readRow<Row extends OptionRow>(
  name: string,
  row: Row,
  given: unknown,
  env: Environment,
): ResolvedRow<Row> {
  const { variables = [], parse } = row;
  const value = readOption({ name, given, variables, parse }, env);
  const missing = value === undefined && row.default !== undefined;
  return (missing ? parse(row.default, `the default of \`${name}\``) : value) as ResolvedRow<Row>;
}

/**
 * What all options of a table come to.
 * @throws HoldfastError `OPTION_INVALID`
 */
export function readTable<Table extends Readonly<Record<string, OptionRow>>>(
  table: Table,
  given: Readonly<Record<string, unknown>>,
  env: Environment,
  group = "",
): ResolvedTable<Table> {
  const names = Object.keys(table) as (keyof Table & string)[];
  const read = names.map((name) => [name, readRow(`${group}${name}`, table[name] as OptionRow, given[name], env)]);
  return Object.fromEntries(read) as ResolvedTable<Table>;
}

/** An option that is a group of options. Groups have no variables. */
export function asGroup<Table extends Readonly<Record<string, OptionRow>>>(
  name: string,
  table: Table,
): OptionParser<ResolvedTable<Table>> {
  return (value, source) => {
    if (typeof value !== "object" || value === null) throw invalidOption(source, "must be an object.");
    checkKnown(capitalised(source), value, Object.keys(table));
    return readTable(table, { ...value }, {}, `${name}.`);
  };
}

/** An option that is checked elsewhere, or needs no check. */
export const asGiven: OptionParser<unknown> = (value) => value;

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const asText: OptionParser<string> = (value, source) => {
  if (typeof value !== "string" || value.trim() === "") {
    throw invalidOption(source, `must be a non-empty string, not ${describeValue(value)}.`);
  }
  return value.trim();
};

/** A name of one line. */
export function asName(maxLength: number): OptionParser<string> {
  return (value, source) => {
    const text = asText(value, source);
    if (text.length > maxLength) {
      throw invalidOption(source, `must have at most ${maxLength} characters, not ${text.length}.`);
    }
    if (!hasControlCharacter(text)) return text;
    throw invalidOption(source, `contains a control character, such as NUL or a newline: ${describeValue(text)}.`);
  };
}

export const asLogger: OptionParser<LoggerLike> = (logger, source) => {
  const candidate = logger as Partial<LoggerLike> | null;
  const missing = LOG_LEVELS.find((level) => typeof candidate?.[level] !== "function");
  if (missing === undefined) return candidate as LoggerLike;
  throw invalidOption(source, `has no method \`${missing}\`; a logger needs debug, info, warn and error.`);
};

export const asLogLevel: OptionParser<LogLevelChoice> = (value, source) => {
  const found = LOG_LEVEL_CHOICES.find((choice) => choice === (typeof value === "string" ? value.trim() : value));
  if (found !== undefined) return found;
  throw invalidOption(source, `must be ${LOG_LEVEL_CHOICES.join(", ")}, not ${describeValue(value)}.`);
};

/** Like `asText`, but the message never shows the value. */
export const asSecretText: OptionParser<string> = (value, source) => {
  if (typeof value !== "string" || value.trim() === "") throw invalidOption(source, "must be a non-empty string.");
  return value.trim();
};

export function parseBoolean(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") return undefined;
  const text = value.trim().toLowerCase();
  if (text === "1" || text === "true") return true;
  return text === "0" || text === "false" ? false : undefined;
}

export const asBoolean: OptionParser<boolean> = (value, source) => {
  const flag = parseBoolean(value);
  if (flag === undefined) throw invalidOption(source, `must be true or false, not ${describeValue(value)}.`);
  return flag;
};

/** An integer from `min` to `max`. */
export function asInteger(min: number, max = Number.MAX_SAFE_INTEGER): OptionParser<number> {
  return (value, source) => {
    const number = typeof value === "string" && /^[+-]?\d+$/.test(value.trim()) ? Number(value) : value;
    if (typeof number !== "number" || !Number.isSafeInteger(number) || number < min || number > max) {
      const range = max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `from ${min} to ${max}`;
      throw invalidOption(source, `must be an integer ${range}, not ${describeValue(value)}.`);
    }
    return number;
  };
}

/** Milliseconds, or text such as "25s". A variable that holds digits only means milliseconds. */
export function asDurationMs(bounds: { readonly minMs?: number; readonly maxMs?: number } = {}): OptionParser<number> {
  return (value, source) => {
    try {
      return parseDurationMs(value as DurationInput, capitalised(source), bounds);
    } catch (cause) {
      // It says whether it is no duration at all, or one that is too short or too long.
      throw new HoldfastError("OPTION_INVALID", messageOf(cause), { cause });
    }
  };
}

/** An address with one of the schemes, first one assumed when there is none; returned in normal form. */
export function asUrl(schemes: readonly [string, ...string[]] = ["http", "https"]): OptionParser<string> {
  return (value, source) => {
    const url = value instanceof URL ? value.href : parseUrl(value, schemes[0]);
    if (url === undefined || !schemes.some((scheme) => url.startsWith(`${scheme}://`))) {
      const example = `"${schemes[0]}://localhost:8288"`;
      throw invalidOption(source, `must be an address such as ${example}, not ${describeValue(value)}.`);
    }
    return url;
  };
}

export function parseUrl(value: unknown, defaultScheme: string): string | undefined {
  if (typeof value !== "string" || value.trim() === "" || /\s/.test(value.trim())) return undefined;
  const text = value.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  // A lone word is a mistyped switch rather than a host, and "http:/localhost" would be the host "http".
  if (!hasScheme && /^(?!localhost$)[^.:/]+$|^(https?|wss?)[:/]/i.test(text)) return undefined;
  try {
    return new URL(hasScheme ? text : `${defaultScheme}://${text}`).href;
  } catch {
    return undefined;
  }
}

const inspect = Symbol.for("nodejs.util.inspect.custom");

/** A value that must not reach a log: printing it in any usual way gives "[secret]". */
export interface HiddenText {
  reveal(): string;
}

export type Secret = HiddenText;
/** Its type has a name of its own: declarations would export a class as a value, which no entry has. */
export const Secret: new (value: string) => HiddenText = class {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect](): string {
    return "[secret]";
  }
};
