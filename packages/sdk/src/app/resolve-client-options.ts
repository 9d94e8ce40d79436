/**
 * Turns options and environment variables into what the SDK works with: mode, addresses, keys. The rows are in
 * `client-option-table.ts`.
 */
import { describeValue, HoldfastError } from "@holdfast/core";
import type { ResolvedClientOptions } from "../functions/app-client.ts";
import {
  asSecretText,
  capitalised,
  checkKnown,
  type Environment,
  invalidOption,
  type OptionParser,
  parseBoolean,
  parseUrl,
  readRow,
  Secret,
} from "../options.ts";
import { asAppId, CLIENT_OPTIONS } from "./client-option-table.ts";
import type { ClientOptions } from "./client-options.ts";
import { hashSigningKey, isBranchKey } from "./signing-key.ts";

const DEV_URL = "http://localhost:8288/";
/** Inngest's service takes events at another address than calls: a name of one stands for both. */
const INNGEST_API_URL = "https://api.inngest.com/";
const INNGEST_EVENT_URL = "https://inn.gs/";

/** @throws HoldfastError `OPTION_INVALID`, `OPTION_MISSING`, `ENVIRONMENT_INVALID` */
export function resolveClientOptions(options: ClientOptions, env: Environment): ResolvedClientOptions {
  if (typeof options !== "object" || options === null) asAppId(undefined, "the option `id`");
  checkKnown("The client", options, Object.keys(CLIENT_OPTIONS));
  const read = <Name extends keyof ClientOptions>(name: Name) =>
    readRow(name, CLIENT_OPTIONS[name], options[name], env);
  read("fetch");
  read("schemas");
  const { mode, devUrl } = resolveMode(options, env);
  const baseUrl = (variables: readonly string[], ofInngest: string): string | undefined => {
    const named = readRow("baseUrl", { ...CLIENT_OPTIONS.baseUrl, variables }, options.baseUrl, env) ?? devUrl;
    const url = named ?? (mode === "dev" ? DEV_URL : undefined);
    return url !== undefined && isInngest(url) ? ofInngest : url && withSlash(url);
  };
  const apiBaseUrl = baseUrl(["_API_BASE_URL", "_BASE_URL"], INNGEST_API_URL);
  const eventBaseUrl = baseUrl(["_EVENT_API_BASE_URL", "_BASE_URL"], INNGEST_EVENT_URL);
  const appVersion = read("appVersion");
  const environment = read("env");
  const eventKey = read("eventKey");
  const parse = asSigningKey(environment);
  const keyOf = (name: "signingKey" | "signingKeyFallback"): Secret | undefined =>
    readRow(name, { ...CLIENT_OPTIONS[name], parse }, options[name], env);
  const signingKey = keyOf("signingKey");
  const signingKeyFallback = keyOf("signingKeyFallback");
  return Object.freeze({
    id: asAppId(options.id, "the option `id`"),
    ...(appVersion === undefined ? {} : { appVersion }),
    mode,
    ...(apiBaseUrl === undefined ? {} : { apiBaseUrl }),
    ...(eventBaseUrl === undefined ? {} : { eventBaseUrl }),
    ...(eventKey === undefined ? {} : { eventKey: new Secret(eventKey) }),
    ...(signingKey === undefined ? {} : { signingKey }),
    ...(signingKeyFallback === undefined ? {} : { signingKeyFallback }),
    ...(environment === undefined ? {} : { env: environment }),
    logger: read("logger") ?? console,
    logLevel: read("logLevel"),
  });
}

function resolveMode(options: ClientOptions, env: Environment): { mode: "dev" | "cloud"; devUrl?: string } {
  const parse = (value: unknown, source: string): { mode: "dev" | "cloud"; devUrl?: string } => {
    const flag = parseBoolean(value);
    if (flag !== undefined) return { mode: flag ? "dev" : "cloud" };
    const url = parseUrl(value, "http");
    if (url?.startsWith("http")) return { mode: "dev", devUrl: url };
    throw invalidOption(source, `must be 1, 0 or the address of a gateway, not ${describeValue(value)}.`);
  };
  const variable = readRow("isDev", { ...CLIENT_OPTIONS.isDev, parse }, undefined, env);
  if (options.isDev === undefined) return variable ?? { mode: "cloud" };
  const isDev = CLIENT_OPTIONS.isDev.parse(options.isDev, "the option `isDev`");
  return isDev ? { ...variable, mode: "dev" } : { mode: "cloud" };
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

function isInngest(url: string): boolean {
  const { host } = new URL(url);
  return host === new URL(INNGEST_API_URL).host || host === new URL(INNGEST_EVENT_URL).host;
}

function withSlash(url: string): string {
  return url.endsWith("/") ? url : `${url}/`;
}
