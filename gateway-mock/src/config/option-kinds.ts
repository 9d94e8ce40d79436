/**
 * What the values of the gateway's options may be: checked as a program gives them, and read from a flag or a variable.
 */
import { describeValue, HoldfastError, type Log, parseDurationMs } from "@holdfast/core";

export interface OptionKind<T> {
  /** @throws HoldfastError `OPTION_INVALID`; `source` is what the message calls it */
  readonly check: (value: unknown, source: string) => T;
  /** What a flag or variable says, for `check`. */
  readonly fromText: (text: string, source: string) => unknown;
}

/** A flag of the command line: followed by a value, perhaps several times, or a switch that sets one. */
export type OptionFlag =
  /** `isOnce`: given twice it is refused; of others the last one counts, so that scripts can be given another. */
  | { readonly name: string; readonly takes: string; readonly isRepeatable?: true; readonly isOnce?: true }
  | { readonly name: string; readonly sets: unknown };

/** One option, written once: type, check, flag, variables, help and the README's table follow from its row. */
export interface OptionRow<T = unknown> {
  readonly kind: OptionKind<T>;
  /** Null: none, since others on the machine can read it, or since it is no text. */
  readonly flag: OptionFlag | null;
  /** Of the environment, for the command line only; first match wins, flags come before. */
  readonly variables: readonly string[];
  /** If omitted, the option stays undefined here, and `doc` says what follows. */
  readonly default?: unknown;
  /** For help and README. */
  readonly doc: string;
}

/** A row for each option of a type; none more, none less. */
export type OptionTable<Options> = {
  readonly [Name in keyof Required<Options>]: OptionRow<NonNullable<Options[Name]>>;
};

type ResolvedRow<Row> = Row extends { readonly kind: OptionKind<infer T> }
  ? Row extends { readonly default: unknown }
    ? T
    : T | undefined
  : never;

export type ResolvedTable<Table> = { readonly [Name in keyof Table]: ResolvedRow<Table[Name]> };

/** @throws HoldfastError `OPTION_INVALID` */
export function resolveTable<Table extends Readonly<Record<string, OptionRow>>>(
  table: Table,
  given: object,
): ResolvedTable<Table> {
  const extra = Object.keys(given).find((name) => !Object.hasOwn(table, name));
  if (extra !== undefined) {
    const known = Object.keys(table).join(", ");
    throw new HoldfastError("OPTION_INVALID", `Unknown gateway option \`${extra}\`; valid options: ${known}.`);
  }
  const values: Readonly<Record<string, unknown>> = { ...given };
  const resolved = Object.entries(table).map(([name, row]) => {
    const value = values[name] === undefined ? row.default : values[name];
    return [name, value === undefined ? undefined : row.kind.check(value, `The option \`${name}\``)];
  });
  return Object.fromEntries(resolved) as ResolvedTable<Table>;
}

export function invalidOption(source: string, problem: string): HoldfastError {
  return new HoldfastError("OPTION_INVALID", `${source} ${problem}`);
}

const asIs = (text: string): unknown => text;
const asNumber = (text: string): unknown => (/^\d{1,15}$/.test(text) ? Number(text) : text);

export const MAX_OPTION_MS = 86_400_000;

export function integer(min: number, max: number, what = "an integer"): OptionKind<number> {
  return {
    fromText: asNumber,
    check: (value, source) => {
      if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
      throw invalidOption(source, `must be ${what} from ${min} to ${max}, not ${describeValue(value)}.`);
    },
  };
}

export const PORT = integer(0, 65_535, "a port");

/** Milliseconds; "20s" in texts. */
export function duration(minMs: number): OptionKind<number> {
  return {
    fromText: (text, source) => parseDurationMs(text, source),
    check: (value, source) => {
      if (typeof value === "number" && value >= minMs && value <= MAX_OPTION_MS) return Math.round(value);
      const range = `between ${minMs} ms and ${MAX_OPTION_MS} ms`;
      throw invalidOption(
        source,
        `must be ${range}, not ${describeValue(value)}${typeof value === "number" ? " ms" : ""}.`,
      );
    },
  };
}

/** The longest that anything is kept for. */
const MAX_PERIOD_MS = 3650 * MAX_OPTION_MS;

/** How long something is kept: milliseconds, or `off` = without end; "30d" in texts. */
export const PERIOD: OptionKind<number | "off"> = {
  fromText: (text, source) => (text === "off" ? text : parseDurationMs(text, source, { maxMs: MAX_PERIOD_MS })),
  check: (value, source) => {
    if (value === "off") return value;
    if (typeof value === "number" && value >= 1_000 && value <= MAX_PERIOD_MS) return Math.round(value);
    throw invalidOption(source, `must be between 1s and 3650d, or "off", not ${describeValue(value)}.`);
  },
};

export const TEXT: OptionKind<string> = {
  fromText: asIs,
  check: (value, source) => {
    if (typeof value === "string") return value;
    throw invalidOption(source, `must be text, not a value of type ${typeof value}.`);
  },
};

const SWITCH_WORDS: Readonly<Record<string, boolean>> = {
  1: true,
  true: true,
  on: true,
  0: false,
  false: false,
  off: false,
};

export const SWITCH: OptionKind<boolean> = {
  fromText: (text) => SWITCH_WORDS[text.toLowerCase()] ?? text,
  check: (value, source) => {
    if (typeof value === "boolean") return value;
    throw invalidOption(source, `must be true or false, not ${describeValue(value)}.`);
  },
};

export function oneOf<Name extends string>(names: readonly Name[]): OptionKind<Name> {
  return {
    fromText: asIs,
    check: (value, source) => {
      const found = names.find((name) => name === value);
      if (found !== undefined) return found;
      throw invalidOption(source, `must be one of ${names.join(", ")}, not ${describeValue(value)}.`);
    },
  };
}

/** Separated by commas in texts, where `none` and `off` stand for the empty list. */
export function listOf<Name extends string>(names: readonly Name[]): OptionKind<readonly Name[]> {
  const one = oneOf(names);
  return {
    fromText: (text) => (text === "none" || text === "off" ? [] : splitList(text.toLowerCase())),
    check: (value, source) => {
      if (!Array.isArray(value)) throw invalidOption(source, "must be an array.");
      return value.map((name: unknown) => one.check(name, source));
    },
  };
}

/** Texts, separated by commas where they are one; what reads them checks them. */
export function textsAs(read: (value: unknown) => string[]): OptionKind<readonly string[]> {
  return { fromText: splitList, check: read };
}

const splitList = (text: string): string[] =>
  text.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));

export const HTTP_URL: OptionKind<string> = {
  fromText: asIs,
  check: (value, source) => {
    if (typeof value === "string" && /^https?:\/\/./.test(value) && URL.canParse(value)) return value;
    throw invalidOption(source, "must look like http://localhost:4318.");
  },
};

/** Scheme, name and port, without a path: what is below it is the gateway's. */
export const ORIGIN_URL: OptionKind<string> = {
  fromText: asIs,
  check: (value, source) => {
    if (typeof value === "string" && /^https?:\/\/[^/?#@\s]+\/?$/.test(value) && URL.canParse(value)) {
      return new URL(value).origin;
    }
    throw invalidOption(source, `must look like https://gateway.example.com, not ${describeValue(value)}.`);
  },
};

/** A share, from 0 to 1. */
export const RATIO: OptionKind<number> = {
  fromText: (text) => (/^\d(\.\d{1,9})?$/.test(text) ? Number(text) : text),
  check: (value, source) => {
    if (typeof value === "number" && value >= 0 && value <= 1) return value;
    throw invalidOption(source, `must be a number from 0 to 1, not ${describeValue(value)}.`);
  },
};

export const DATABASE_URL: OptionKind<string> = {
  fromText: asIs,
  check: (value, source) => {
    if (typeof value === "string" && (value === "" || /^postgres(ql)?:\/\/./.test(value))) return value;
    // It may hold a password.
    throw invalidOption(source, "must look like postgres://user:password@host:5432/database.");
  },
};

export const LOG: OptionKind<Log> = {
  fromText: asIs,
  check: (value, source) => {
    if (isLog(value)) return value;
    throw invalidOption(source, "must be a function: (level, message, data) => ...");
  },
};

function isLog(value: unknown): value is Log {
  return typeof value === "function";
}

/** Checked where its options are read together. */
export function unchecked<T>(fromText: (text: string) => unknown = asIs): OptionKind<T> {
  return { fromText, check: (value) => value as T };
}
