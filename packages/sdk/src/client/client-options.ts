import { describeValue, HoldfastError, LOG_LEVELS, type LoggerLike, readEnvironmentName } from "@holdfast/core";
import {
  asBoolean,
  asName,
  asSecretText,
  asText,
  asUrl,
  capitalised,
  checkKnown,
  type Environment,
  invalidOption,
  type OptionParser,
  parseBoolean,
  parseUrl,
  readOption,
  Secret,
} from "../options.ts";
import { isStandardSchema, type SchemaMap } from "./event-types.ts";
import { hashSigningKey, isBranchKey } from "./signing-key.ts";

export type FetchLike = (input: string, init: RequestInit) => Promise<Response>;

/** Options of `new Holdfast(...)`. Those with a variable fall back to it: `HOLDFAST_X` first, then `INNGEST_X`. */
export interface ClientOptions<Schemas extends SchemaMap = SchemaMap> {
  /** The app's id; the first part of the ids of its functions. */
  readonly id: string;
  /** The app's version. A run stays on the version that started it. `HOLDFAST_APP_VERSION`. */
  readonly appVersion?: string;
  /**
   * Development mode: a gateway on this machine (http://localhost:8288), keys optional. `HOLDFAST_DEV` also takes the
   * address of the gateway. Default false.
   */
  readonly isDev?: boolean;
  /** Where the gateway is, for its API and for events. `HOLDFAST_BASE_URL`, `..._API_BASE_URL`, `..._EVENT_API_BASE_URL`. */
  readonly baseUrl?: string;
  /** Key for sending events. `HOLDFAST_EVENT_KEY`. */
  readonly eventKey?: string;
  /**
   * Key with which this app connects: hex digits, at least 32 (`openssl rand -hex 32`), with or without a prefix such as
   * `signkey-prod-`. Only its hash is kept. `HOLDFAST_SIGNING_KEY`.
   */
  readonly signingKey?: string;
  /** Tried when the gateway refuses `signingKey`. `HOLDFAST_SIGNING_KEY_FALLBACK`. */
  readonly signingKeyFallback?: string;
  /**
   * Name of the environment that the app's functions, events and runs belong to: they meet nothing of another one.
   * `HOLDFAST_ENV`, then the branch variables of common hosts. Default: the environment `default`.
   */
  readonly env?: string;
  /** Console-shaped or pino-shaped. Default: the console. */
  readonly logger?: LoggerLike;
  /** Standard Schemas of the data of events, by event name: checked when events are sent and when a function gets them. */
  readonly schemas?: Schemas;
  /** Used to send events. Default: the global `fetch`. */
  readonly fetch?: FetchLike;
}

export interface ResolvedClientOptions {
  readonly id: string;
  readonly appVersion?: string;
  readonly mode: "dev" | "cloud";
  /** Ends with "/". */
  readonly apiBaseUrl: string;
  /** Ends with "/". */
  readonly eventBaseUrl: string;
  readonly eventKey?: Secret;
  /** Hashed, ready for `Authorization: Bearer`. */
  readonly signingKey?: Secret;
  readonly signingKeyFallback?: Secret;
  readonly env?: string;
  readonly logger: LoggerLike;
}

/** With the function's id it is the function's name to gateways, which take 512 characters. */
const MAX_ID_LENGTH = 200;
const MAX_VERSION_LENGTH = 256;
const DEV_URL = "http://localhost:8288/";
const CLOUD_API_URL = "https://api.inngest.com/";
const CLOUD_EVENT_URL = "https://inn.gs/";

const BRANCH_VARIABLES = [
  "BRANCH_NAME",
  "VERCEL_GIT_COMMIT_REF",
  "BRANCH",
  "CF_PAGES_BRANCH",
  "RENDER_GIT_BRANCH",
  "RAILWAY_GIT_BRANCH",
];

const KNOWN = [
  "id",
  "appVersion",
  "isDev",
  "baseUrl",
  "eventKey",
  "signingKey",
  "signingKeyFallback",
  "env",
  "logger",
  "schemas",
  "fetch",
];

/** @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING`, `ENVIRONMENT_INVALID` */
export function resolveClientOptions(options: ClientOptions, env: Environment): ResolvedClientOptions {
  if (typeof options !== "object" || options === null) resolveId(undefined);
  checkKnown("new Holdfast()", options, KNOWN);
  checkParts(options);
  const { mode, devUrl } = resolveMode(options, env);
  const baseUrl = (variables: readonly string[], fallback: string): string => {
    const source = { name: "baseUrl", given: options.baseUrl, variables, parse: asUrl() };
    return withSlash(readOption(source, env) ?? devUrl ?? fallback);
  };
  const appVersion = readOption(
    { name: "appVersion", given: options.appVersion, variables: ["_APP_VERSION"], parse: asName(MAX_VERSION_LENGTH) },
    env,
  );
  const environment = readOption(
    { name: "env", given: options.env, variables: ["_ENV", ...BRANCH_VARIABLES], parse: asEnvironmentName },
    env,
  );
  const eventKey = readOption(
    { name: "eventKey", given: options.eventKey, variables: ["_EVENT_KEY"], parse: asSecretText },
    env,
  );
  const parse = asSigningKey(environment);
  const keyOf = (name: "signingKey" | "signingKeyFallback", variable: string): Secret | undefined =>
    readOption({ name, given: options[name], variables: [variable], parse }, env);
  const signingKey = keyOf("signingKey", "_SIGNING_KEY");
  const signingKeyFallback = keyOf("signingKeyFallback", "_SIGNING_KEY_FALLBACK");
  return Object.freeze({
    id: resolveId(options.id),
    ...(appVersion === undefined ? {} : { appVersion }),
    mode,
    apiBaseUrl: baseUrl(["_API_BASE_URL", "_BASE_URL"], mode === "dev" ? DEV_URL : CLOUD_API_URL),
    eventBaseUrl: baseUrl(["_EVENT_API_BASE_URL", "_BASE_URL"], mode === "dev" ? DEV_URL : CLOUD_EVENT_URL),
    ...(eventKey === undefined ? {} : { eventKey: new Secret(eventKey) }),
    ...(signingKey === undefined ? {} : { signingKey }),
    ...(signingKeyFallback === undefined ? {} : { signingKeyFallback }),
    ...(environment === undefined ? {} : { env: environment }),
    logger: resolveLogger(options.logger),
  });
}

const asEnvironmentName: OptionParser<string> = (value, source) =>
  readEnvironmentName(asText(value, source), capitalised(source));

function checkParts({ schemas, fetch }: ClientOptions): void {
  if (fetch !== undefined && typeof fetch !== "function")
    throw invalidOption("the option `fetch`", "must be a function.");
  if (schemas === undefined) return;
  if (typeof schemas !== "object" || schemas === null) {
    throw invalidOption("the option `schemas`", "must be an object of Standard Schemas by event name.");
  }
  const wrong = Object.keys(schemas).find((name) => !isStandardSchema(schemas[name]));
  if (wrong === undefined) return;
  throw invalidOption(
    "the option `schemas`",
    `has a value for "${wrong}" that is not a Standard Schema (version 1); valibot, zod 3.24+ and arktype produce them.`,
  );
}

function resolveMode(options: ClientOptions, env: Environment): { mode: "dev" | "cloud"; devUrl?: string } {
  const parse = (value: unknown, source: string): { mode: "dev" | "cloud"; devUrl?: string } => {
    const flag = parseBoolean(value);
    if (flag !== undefined) return { mode: flag ? "dev" : "cloud" };
    // A lone word is a mistyped switch rather than a host.
    const url = /[.:/]|^localhost$/i.test(String(value)) ? parseUrl(value, "http") : undefined;
    if (url?.startsWith("http")) return { mode: "dev", devUrl: url };
    throw invalidOption(source, `must be 1, 0 or the address of a gateway, not ${describeValue(value)}.`);
  };
  const variable = readOption({ name: "isDev", given: undefined, variables: ["_DEV"], parse }, env);
  if (options.isDev === undefined) return variable ?? { mode: "cloud" };
  const isDev = asBoolean(options.isDev, "the option `isDev`");
  return isDev ? { ...variable, mode: "dev" } : { mode: "cloud" };
}

function resolveId(id: unknown): string {
  if (typeof id === "string" && id.trim() !== "") return asName(MAX_ID_LENGTH)(id, "the option `id`");
  throw new HoldfastError(
    "OPTION_MISSING",
    'The option `id` is missing: give the app an id, `new Holdfast({ id: "my-app" })`.',
  );
}

/** Only the hash of a signing key is kept. */
function asSigningKey(environment: string | undefined): OptionParser<Secret> {
  return (value, source) => {
    const key = asSecretText(value, source);
    if (isBranchKey(key) && environment === undefined) {
      throw new HoldfastError(
        "OPTION_MISSING",
        "The signing key is for branch environments, so the name of one is required: pass `env`, or set HOLDFAST_ENV.",
      );
    }
    return new Secret(hashSigningKey(key, capitalised(source)));
  };
}

function resolveLogger(logger: unknown): LoggerLike {
  if (logger === undefined) return console;
  const candidate = logger as Partial<LoggerLike> | null;
  const missing = LOG_LEVELS.find((level) => typeof candidate?.[level] !== "function");
  if (missing === undefined) return candidate as LoggerLike;
  throw invalidOption(
    "the option `logger`",
    `has no method \`${missing}\`; a logger needs debug, info, warn and error.`,
  );
}

function withSlash(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}
