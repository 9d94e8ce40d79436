import { parseArgs } from "node:util";
import { HoldfastError, messageOf, parseDurationMs } from "@holdfast/core";
import { VERSION_POLICIES } from "@holdfast/engine";
import { DEFAULT_PORT, type GatewayOptions, MAX_OPTION_MS, MIN_DURATIONS_MS } from "./config.ts";

export const LOG_LEVEL_NAMES = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevelName = (typeof LOG_LEVEL_NAMES)[number];
export type LogFormat = "pretty" | "json";

export type Command =
  | { readonly type: "help" }
  | { readonly type: "version" }
  | {
      readonly type: "dev";
      readonly options: GatewayOptions;
      readonly logLevel: LogLevelName;
      /** Undefined: readable lines on a terminal, JSON otherwise. */
      readonly logFormat: LogFormat | undefined;
      /** File of additional keys; read before the gateway starts. */
      readonly keysFile: string | undefined;
      /** Print one JSON line when ready instead of the greeting. */
      readonly json: boolean;
    };

export const HELP = `Usage: holdfast-gateway dev [options]

Runs a gateway on this machine: HTTP, WebSocket, dispatcher and store, with an embedded Postgres unless you name another.

Options
  --port <n>                    HTTP and WebSocket port (default ${DEFAULT_PORT}; 0 = any free port)
  --connect-port <n>            second port for the WebSocket (default: port + 1; 0 = any free port)
  --host <address>              address to listen on (default 127.0.0.1; other addresses require keys)
  --allowed-host <name>         host name that clients may use, besides localhost and IP addresses (repeatable)
  --allowed-origin <origin>     browser origin that may call, such as http://localhost:3000 (repeatable)
  --data-dir <path>             where the embedded Postgres keeps its data (default .holdfast)
  --database-url <url>          use this Postgres instead (or DATABASE_URL)
  --keys <file>                 additional keys, each with a name and optionally an environment (or HOLDFAST_KEYS_FILE)
  --log-level <level>           debug, info, warn, error or silent (default info)
  --log-format <format>         pretty or json (default: pretty on a terminal, otherwise json)
  --lease <duration>            how long a request is leased to a worker, such as 20s
  --heartbeat <duration>        heartbeat interval of connections, such as 5s
  --request-ack <duration>      how long a worker may take to acknowledge a request before it is reassigned (default 5s)
  --retry-base <duration>       delay before the first retry of a step (default 1s)
  --reconnect-grace <duration>  how long a disconnected worker may take to reconnect and keep its work (default 5s)
  --drain <duration>            how long a shutdown waits for workers to finish (default 25s)
  --version-policy <policy>     which workers may continue a run started by another app version:
                                prefer, strict or any (default prefer)
  --allow-private-fetch         let step.fetch call this machine and its private network although other machines
                                can reach the gateway
  --no-extensions               speak the base protocol only
  --plain                       base protocol only, as strict as the reference gateway: for testing apps that will run there
  --virtual-time                for tests: advance time with POST /v1/testing/skip-time
  --json                        print one JSON line when ready
  --version, --help

Environment
  DATABASE_URL           same as --database-url
  HOLDFAST_SIGNING_KEY, HOLDFAST_SIGNING_KEY_FALLBACK, HOLDFAST_EVENT_KEY
                         keys required of apps and event senders; generate signing keys with openssl rand -hex 32
  HOLDFAST_KEYS_FILE     same as --keys: a JSON array of { "name", "kind": "signing" or "event", "key", "environment" }
`;

const FLAGS = {
  port: { type: "string" },
  "connect-port": { type: "string" },
  host: { type: "string" },
  "allowed-host": { type: "string", multiple: true },
  "allowed-origin": { type: "string", multiple: true },
  "data-dir": { type: "string" },
  "database-url": { type: "string" },
  "log-level": { type: "string" },
  "log-format": { type: "string" },
  lease: { type: "string" },
  heartbeat: { type: "string" },
  "request-ack": { type: "string" },
  "retry-base": { type: "string" },
  "reconnect-grace": { type: "string" },
  drain: { type: "string" },
  "version-policy": { type: "string" },
  "allow-private-fetch": { type: "boolean" },
  "no-extensions": { type: "boolean" },
  plain: { type: "boolean" },
  "virtual-time": { type: "boolean" },
  keys: { type: "string" },
  json: { type: "boolean" },
  version: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

type Values = Partial<Record<keyof typeof FLAGS, string | boolean | string[]>>;

/**
 * Reads the command line.
 * @throws HoldfastError `GATEWAY_USAGE`
 */
export function parseCommand(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Command {
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
    keysFile: text(values, "keys") ?? (env.HOLDFAST_KEYS_FILE || undefined),
    logLevel: oneOf(values, "log-level", LOG_LEVEL_NAMES) ?? "info",
    logFormat: oneOf(values, "log-format", ["pretty", "json"]),
    json: values.json === true,
  };
}

function parse(args: readonly string[]): { values: Values; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowPositionals: true,
      strict: true,
    });
    return { values, positionals };
  } catch (error) {
    throw usage(`${messageOf(error).split(". ")[0]}; "holdfast-gateway --help" lists all options.`);
  }
}

function readOptions(values: Values, env: Readonly<Record<string, string | undefined>>): GatewayOptions {
  const databaseUrl = text(values, "database-url") ?? env.DATABASE_URL;
  const leaseMs = duration(values, "lease", "leaseMs");
  const heartbeatMs = duration(values, "heartbeat", "heartbeatMs");
  if (leaseMs !== undefined && heartbeatMs !== undefined && heartbeatMs > leaseMs) {
    throw usage(
      `--heartbeat (${heartbeatMs} ms) must not be longer than --lease (${leaseMs} ms): a lost worker must be noticed before its leases end.`,
    );
  }
  const signingKeyFallback = env.HOLDFAST_SIGNING_KEY_FALLBACK;
  return dropUndefined({
    port: integer(values, "port"),
    connectPort: integer(values, "connect-port"),
    host: text(values, "host"),
    allowedHosts: list(values, "allowed-host"),
    allowedOrigins: list(values, "allowed-origin"),
    dataDir: text(values, "data-dir"),
    databaseUrl: databaseUrl === undefined || databaseUrl === "" ? undefined : checkDatabaseUrl(databaseUrl),
    leaseMs,
    heartbeatMs,
    requestAckMs: duration(values, "request-ack", "requestAckMs"),
    retryBaseMs: duration(values, "retry-base", "retryBaseMs"),
    reconnectGraceMs: duration(values, "reconnect-grace", "reconnectGraceMs"),
    drainMs: duration(values, "drain", "drainMs"),
    versionPolicy: oneOf(values, "version-policy", VERSION_POLICIES),
    allowPrivateFetch: values["allow-private-fetch"] === true ? true : undefined,
    extensions: values["no-extensions"] === true ? [] : undefined,
    plain: values.plain === true ? true : undefined,
    virtualTime: values["virtual-time"] === true ? true : undefined,
    signingKey: env.HOLDFAST_SIGNING_KEY,
    signingKeyFallback,
    eventKey: env.HOLDFAST_EVENT_KEY,
  });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function dropUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Defined<T>;
}

function checkDatabaseUrl(url: string): string {
  if (/^postgres(ql)?:\/\/./.test(url)) return url;
  throw usage("The database URL must look like postgres://user:password@host:5432/database.");
}

function text(values: Values, name: keyof Values): string | undefined {
  const value = values[name];
  if (value === "") throw usage(`--${name} needs a value.`);
  return typeof value === "string" ? value : undefined;
}

function list(values: Values, name: keyof Values): string[] | undefined {
  const value = values[name];
  return Array.isArray(value) ? value : undefined;
}

function integer(values: Values, name: keyof Values): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw usage(`--${name} must be a port from 0 to 65535, not "${value}".`);
  return Number(value);
}

function duration(values: Values, name: keyof Values, option: keyof typeof MIN_DURATIONS_MS): number | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  try {
    return parseDurationMs(value, `--${name}`, { minMs: MIN_DURATIONS_MS[option], maxMs: MAX_OPTION_MS });
  } catch (error) {
    throw usage(messageOf(error));
  }
}

function oneOf<Name extends string>(values: Values, name: keyof Values, names: readonly Name[]): Name | undefined {
  const value = text(values, name);
  if (value === undefined) return undefined;
  const found = names.find((one) => one === value);
  if (!found) throw usage(`--${name} must be one of ${names.join(", ")}, not "${value}".`);
  return found;
}

function usage(message: string): HoldfastError {
  return new HoldfastError("GATEWAY_USAGE", message);
}
