/**
 * Reads options from flags, variables, a configuration file and defaults, in this order, and keeps where each value
 * came from. What is wrong is reported at once, all of it.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import type { OptionRow, ResolvedTable } from "./option-kinds.ts";

export type Rows = Readonly<Record<string, OptionRow>>;
export type Environment = Readonly<Record<string, string | undefined>>;
/** What flags were given, by the names of their options: their texts, or true for a switch. */
export type Flags = Readonly<Record<string, readonly string[] | true>>;

/** A configuration file that was read. */
export interface ConfigFile {
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export type SettingSource =
  | { readonly type: "flag"; readonly name: string }
  | { readonly type: "variable"; readonly name: string }
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "default" };

export interface Setting {
  readonly name: string;
  readonly row: OptionRow;
  /** Undefined: not given, and without a default of its own. */
  readonly value: unknown;
  readonly source: SettingSource;
}

export interface Given {
  readonly flags: Flags;
  readonly env: Environment;
  readonly file?: ConfigFile | undefined;
}

/**
 * One setting for each row.
 * @throws HoldfastError `GATEWAY_USAGE`; `SIGNING_KEY_INVALID` or `ENVIRONMENT_INVALID` when that is all
 */
export function readSettings(rows: Rows, given: Given): readonly Setting[] {
  const problems: unknown[] = [];
  const settings = Object.entries(rows).map(([name, row]) => {
    try {
      return readSetting(name, row, given);
    } catch (error) {
      problems.push(error);
      return settingOf(name, row, undefined, { type: "default" });
    }
  });
  if (problems.length > 0) throw allOf(problems);
  return settings;
}

/** What was given, without defaults. */
export function givenValues(settings: readonly Setting[]): Readonly<Record<string, unknown>> {
  const given = settings.filter(({ source }) => source.type !== "default");
  return Object.fromEntries(given.map(({ name, value }) => [name, value]));
}

/** All values, as the type of the table says. */
export function valuesOf<Table extends Rows>(_table: Table, settings: readonly Setting[]): ResolvedTable<Table> {
  return Object.fromEntries(settings.map(({ name, value }) => [name, value])) as ResolvedTable<Table>;
}

/** As a sentence names it. */
export function sourceText(source: SettingSource): string {
  switch (source.type) {
    case "flag":
      return `--${source.name}`;
    case "variable":
      return source.name;
    case "file":
      return source.path;
    case "default":
      return "default";
  }
}

function readSetting(name: string, row: OptionRow, { flags, env, file }: Given): Setting {
  const flag = flags[name];
  if (flag !== undefined && row.flag !== null) {
    return settingOf(name, row, fromFlag(row, flag), { type: "flag", name: row.flag.name });
  }
  // Empty ones count as unset.
  const variable = row.variables.find((one) => env[one]?.trim());
  const text = variable === undefined ? undefined : env[variable]?.trim();
  if (variable !== undefined && text !== undefined) {
    return settingOf(name, row, fromText(row, text, variable), { type: "variable", name: variable });
  }
  const held = file?.values[name];
  if (file !== undefined && held !== undefined) {
    const source = `\`${name}\` in ${file.path}`;
    const value = typeof held === "string" ? fromText(row, held, source) : row.kind.check(held, source);
    return settingOf(name, row, value, { type: "file", path: file.path });
  }
  return settingOf(name, row, row.default, { type: "default" });
}

function settingOf(name: string, row: OptionRow, value: unknown, source: SettingSource): Setting {
  return { name, row, value, source };
}

function fromFlag({ flag, kind }: OptionRow, given: readonly string[] | true): unknown {
  if (flag === null) return undefined;
  if ("sets" in flag) return flag.sets;
  const source = `--${flag.name}`;
  const texts = given === true ? [] : given;
  if (texts.length === 0 || texts.includes("")) throw usage(`${source} needs a value.`);
  if (texts.length > 1 && flag.isOnce) throw usage(`${source} was given ${texts.length} times; it takes one value.`);
  return kind.check(texts.map((text) => kind.fromText(text, source)).reduce(joined), source);
}

function fromText({ kind }: OptionRow, text: string, source: string): unknown {
  return kind.check(kind.fromText(text, source), source);
}

/** What a flag that is given several times says. */
function joined(before: unknown, next: unknown): unknown {
  return Array.isArray(before) && Array.isArray(next) ? [...before, ...next] : next;
}

/** One error for all; a single one keeps its code where it says more than that an option is wrong. */
function allOf(problems: readonly unknown[]): Error {
  const unexpected = problems.find((one) => !HoldfastError.is(one));
  if (unexpected !== undefined) throw unexpected;
  const [first] = problems;
  const isUsage = HoldfastError.is(first) && (first.code === "OPTION_INVALID" || first.code === "DURATION_INVALID");
  if (problems.length === 1 && HoldfastError.is(first)) return isUsage ? usage(first.message) : first;
  return usage(`${problems.length} options are invalid:${problems.map((one) => `\n  - ${messageOf(one)}`).join("")}`);
}

export function usage(message: string): HoldfastError {
  return new HoldfastError("GATEWAY_USAGE", message);
}
