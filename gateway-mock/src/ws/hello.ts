/**
 * Reads and checks WORKER_CONNECT: environment, apps, functions, extensions. What is refused here is refused before
 * anything is stored.
 */
import { describeValue, HoldfastError, hasControlCharacter, isUlid, messageOf } from "@holdfast/core";
import { checkCancelPaths, readFunctionSettings } from "@holdfast/engine";
import { type Extension, isRecord, parseJsonBytes, type WorkerConnect } from "@holdfast/protocol";
import { type AppRecord, type FunctionRecord, functionTaken, qualify } from "@holdfast/store";

import { negotiate, readOffer } from "./intervals.ts";
import type { Refusal } from "./session-types.ts";
import { readWorkerOffer, type WorkerOffer } from "./worker-offer.ts";

/** What WORKER_CONNECT says, read and checked. */
export interface Hello extends WorkerOffer {
  readonly environment: string;
  /** As its environment has them, like the ids of functions. */
  readonly apps: readonly AppRecord[];
  readonly functionIds: readonly string[];
  readonly extensions: readonly Extension[];
}

export type HelloResult =
  | { readonly ok: true; readonly hello: Hello }
  | { readonly ok: false; readonly refusal: Refusal; readonly why: string };

export interface HelloRules {
  readonly extensions: readonly Extension[];
  /** What is no JSON is an internal error, as at the reference. */
  readonly strict?: boolean;
  readonly maxApps: number;
  readonly maxFunctions: number;
  /**
   * Where the worker works; null: its session token is wrong or too old.
   * @throws HoldfastError `ENVIRONMENT_INVALID`, `ENVIRONMENT_REFUSED`
   */
  readonly environmentOf: (connect: WorkerConnect) => string | null;
}

export function readHello(connect: WorkerConnect, rules: HelloRules): HelloResult {
  const { connectionId, instanceId, apps } = connect;
  if (!isUlid(connectionId)) return invalid("the connection id is not a ULID");
  const instanceProblem = nameProblem(instanceId, 256);
  if (instanceProblem) return invalid(`the instance id ${instanceProblem}`);
  if (apps.length === 0) return invalid("there is no app");
  if (apps.length > rules.maxApps) {
    return refused(
      "connect_too_many_apps_per_connection",
      `there are ${apps.length} apps; the limit is ${rules.maxApps}`,
    );
  }
  try {
    const environment = rules.environmentOf(connect);
    if (environment === null) {
      return refused("connect_authentication_failed", "the session token is wrong or expired");
    }
    const offer = readOffer(connect.capabilities);
    const extensions = negotiate(offer, rules.extensions);
    const sdk = `${connect.sdkLanguage}:${connect.sdkVersion}`;
    const records = apps.map((app) => ({
      id: checkName(app.appName, "an app's name"),
      version: checkVersion(app.appVersion ?? "", app.appName),
      sdk,
      functions: readFunctions(app.functions, app.appName, rules.maxFunctions),
    }));
    checkSlugs(records);
    const inEnvironment = records.map((app) => qualifyApp(environment, app));
    const functionIds = [...new Set(inEnvironment.flatMap((app) => app.functions.map((fn) => fn.slug)))];
    const placing = readWorkerOffer(offer, { extensions, environment, functionIds });
    return { ok: true, hello: { environment, apps: inEnvironment, functionIds, extensions, ...placing } };
  } catch (error) {
    const why = messageOf(error);
    if (rules.strict && HoldfastError.is(error) && error.code === "FRAME_INVALID") {
      return { ok: false, refusal: { code: "connect_internal_error", closeCode: 1011 }, why };
    }
    return { ok: false, refusal: { code: "config_invalid", closeCode: 1008, syncMessage: why }, why };
  }
}

function qualifyApp(environment: string, app: AppRecord): AppRecord {
  const functions = app.functions.map((fn) => ({ ...fn, slug: qualify(environment, fn.slug) }));
  return { ...app, id: qualify(environment, app.id), functions };
}

function readFunctions(bytes: Uint8Array, appName: string, maxFunctions: number): FunctionRecord[] {
  const value = bytes.byteLength === 0 ? [] : parseJsonBytes(bytes, `The functions of app "${appName}"`);
  if (!Array.isArray(value)) throw new Error(`The functions of app "${appName}" are not an array.`);
  if (value.length > maxFunctions) {
    throw new Error(`App "${appName}" has ${value.length} functions; the limit is ${maxFunctions}`);
  }
  const seen = new Set<string>();
  return value.map((entry, index) => {
    if (!isRecord(entry)) throw new Error(`Function ${index} of app "${appName}" is not an object.`);
    const slug = checkName(entry.id, `the id of function ${index} of app "${appName}"`);
    if (seen.has(slug)) throw new Error(`App "${appName}" has two functions with the id "${slug}".`);
    seen.add(slug);
    return readFunction(slug, entry);
  });
}

/** App id, dash, function id may be one text for two pairs of them. */
function checkSlugs(apps: readonly AppRecord[]): void {
  const owners = new Map<string, string>();
  for (const { id, functions } of apps) {
    for (const { slug } of functions) {
      const other = owners.get(slug);
      if (other !== undefined && other !== id) throw functionTaken(slug, id, other, "connection");
      owners.set(slug, id);
    }
  }
}

function readFunction(slug: string, entry: Record<string, unknown>): FunctionRecord {
  const { triggers, ...config } = entry;
  const { queue } = readFunctionSettings(slug, triggers, config);
  checkCancelPaths(slug, config);
  return {
    slug,
    ...(queue === null ? {} : { queue }),
    name: typeof entry.name === "string" ? entry.name : slug,
    triggersJson: JSON.stringify(triggers ?? []),
    configJson: JSON.stringify(config),
  };
}

function checkName(value: unknown, what: string): string {
  if (typeof value !== "string") throw new Error(`${what} must be a string.`);
  const problem = nameProblem(value, 512);
  if (problem) throw new Error(`${what} ${problem}.`);
  return value;
}

function checkVersion(version: string, appName: string): string {
  const problem = version === "" ? null : nameProblem(version, 256);
  if (problem) throw new Error(`the version of app "${appName}" ${problem}.`);
  return version;
}

function nameProblem(text: string, maxLength: number): string | null {
  if (text === "" || text.length > maxLength) return `must have 1 to ${maxLength} characters`;
  return hasControlCharacter(text) ? `contains a control character: ${describeValue(text)}` : null;
}

/** Why a connection is refused whose functions could not be stored. */
export function refusalOf(error: unknown): Refusal {
  if (!HoldfastError.is(error) || error.code !== "FUNCTION_TAKEN") {
    return { code: "connect_internal_error", closeCode: 1011 };
  }
  return { code: "config_invalid", closeCode: 1008, syncMessage: `${error.code}: ${error.message}` };
}

function invalid(why: string): HelloResult {
  return refused("connect_worker_hello_invalid_payload", why);
}

function refused(code: string, why: string): HelloResult {
  return { ok: false, refusal: { code, closeCode: 1008 }, why };
}
