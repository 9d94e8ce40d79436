/** The command line: every option of the gateway by flag or variable, and those of the command itself. */
import { parseArgs } from "node:util";
import { HoldfastError, messageOf } from "@holdfast/core";
import type { GatewayOptions } from "./gateway-options.ts";
import { type OptionRow, oneOf, type ResolvedTable, resolveTable, SWITCH } from "./option-kinds.ts";
import { GATEWAY_OPTIONS } from "./option-table.ts";

export const LOG_LEVEL_NAMES = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevelName = (typeof LOG_LEVEL_NAMES)[number];
export const LOG_FORMATS = ["pretty", "json"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

type Rows = Readonly<Record<string, OptionRow>>;
type Environment = Readonly<Record<string, string | undefined>>;

/** Options of the command, not of the gateway. */
export const COMMAND_OPTIONS = {
  logLevel: {
    kind: oneOf(LOG_LEVEL_NAMES),
    flag: { name: "log-level", takes: "<level>" },
    variables: ["HOLDFAST_GATEWAY_LOG_LEVEL"],
    default: "info",
    doc: "`debug`, `info`, `warn`, `error` or `silent`",
  },
  logFormat: {
    kind: oneOf(LOG_FORMATS),
    flag: { name: "log-format", takes: "<format>" },
    variables: ["HOLDFAST_GATEWAY_LOG_FORMAT"],
    doc: "`pretty` or `json`; default: `pretty` on a terminal, otherwise `json`",
  },
  json: {
    kind: SWITCH,
    flag: { name: "json", sets: true },
    variables: ["HOLDFAST_GATEWAY_JSON"],
    default: false,
    doc: "print one JSON line when ready instead of the greeting",
  },
} as const satisfies Rows;

type DevCommand = { readonly type: "dev"; readonly options: GatewayOptions } & ResolvedTable<typeof COMMAND_OPTIONS>;

export type Command = { readonly type: "help" } | { readonly type: "version" } | DevCommand;

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/**
 * Reads the command line.
 * @throws HoldfastError `GATEWAY_USAGE`, `SIGNING_KEY_INVALID`, `ENVIRONMENT_INVALID`
 */
export function parseCommand(args: readonly string[], env: Environment): Command {
  const { values, positionals } = parse(args);
  if (values.help) return { type: "help" };
  if (values.version) return { type: "version" };
  const [command, ...rest] = positionals;
  if (command !== "dev" || rest.length > 0) {
    const given = command === undefined ? "No command was given" : `Unknown command "${positionals.join(" ")}"`;
    throw usage(`${given}; run "holdfast-gateway dev", or "holdfast-gateway --help" for all options.`);
  }
  return {
    type: "dev",
    options: readOptions(values, env),
    ...resolveTable(COMMAND_OPTIONS, readRows(COMMAND_OPTIONS, values, env)),
  };
}

function parse(args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    return parseArgs({ args: [...args], options: parserOptions(), allowPositionals: true, strict: true });
  } catch (error) {
    throw usage(`${messageOf(error).split(". ")[0]}; "holdfast-gateway --help" lists all options.`);
  }
}

interface ParserOption {
  type: "string" | "boolean";
  multiple?: boolean;
  short?: string;
}

function parserOptions(): Record<string, ParserOption> {
  const options: Record<string, ParserOption> = {
    version: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  };
  for (const { flag } of Object.values<OptionRow>({ ...GATEWAY_OPTIONS, ...COMMAND_OPTIONS })) {
    if (flag === null) continue;
    options[flag.name] =
      "sets" in flag ? { type: "boolean" } : { type: "string", multiple: flag.isRepeatable === true };
  }
  return options;
}

function readOptions(values: Values, env: Environment): GatewayOptions {
  const options: GatewayOptions = readRows(GATEWAY_OPTIONS, values, env);
  const { leaseMs, heartbeatMs } = options;
  if (leaseMs !== undefined && heartbeatMs !== undefined && heartbeatMs > leaseMs) {
    throw usage(
      `--heartbeat (${heartbeatMs} ms) must not be longer than --lease (${leaseMs} ms): a lost worker must be noticed before its leases end.`,
    );
  }
  return options;
}

/** What the flags, else the variables say. */
function readRows(rows: Rows, values: Values, env: Environment): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(rows).flatMap(([name, row]) => {
      const value = fromFlag(row, values) ?? fromVariable(row, env);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function fromFlag({ flag, kind }: OptionRow, values: Values): unknown {
  const given = flag === null ? undefined : values[flag.name];
  if (flag === null || given === undefined) return undefined;
  if ("sets" in flag) return flag.sets;
  const source = `--${flag.name}`;
  const texts = [given].flat().filter((one) => typeof one === "string");
  if (texts.includes("")) throw usage(`${source} needs a value.`);
  return checked(() => kind.check(texts.map((text) => kind.fromText(text, source)).reduce(joined), source));
}

/** What a flag that is given several times says. */
function joined(before: unknown, next: unknown): unknown {
  return Array.isArray(before) && Array.isArray(next) ? [...before, ...next] : next;
}

/** Empty ones count as unset. */
function fromVariable({ variables, kind }: OptionRow, env: Environment): unknown {
  const variable = variables.find((name) => env[name]?.trim());
  const text = variable === undefined ? undefined : env[variable]?.trim();
  if (variable === undefined || text === undefined) return undefined;
  return checked(() => kind.check(kind.fromText(text, variable), variable));
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!HoldfastError.is(error)) throw error;
    const isUsage = error.code === "OPTION_INVALID" || error.code === "DURATION_INVALID";
    throw isUsage ? usage(error.message) : error;
  }
}

function usage(message: string): HoldfastError {
  return new HoldfastError("GATEWAY_USAGE", message);
}
