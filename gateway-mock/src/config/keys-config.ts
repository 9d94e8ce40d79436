/** Reads the keys that a gateway is started with: several, each for one environment. */
import { DEFAULT_ENVIRONMENT_NAME, HoldfastError, readEnvironmentName, readSigningKey } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { DEFAULT_ENVIRONMENT } from "@holdfast/store";
import type { NamedKey } from "../http/keys.ts";

/** A key among several. */
export interface GatewayKey {
  /** What logs and messages call it; each key has its own. */
  readonly name: string;
  /** `signing`: for apps, and for clients that read or cancel runs. `event`: for clients that send events. */
  readonly kind: "signing" | "event";
  readonly key: string;
  /** The one environment that it opens, `default` for the default one. Without it: any; who uses the key says which. */
  readonly environment?: string;
}

export interface KeySettings {
  readonly signingKey?: string;
  readonly signingKeyFallback?: string;
  readonly eventKey?: string;
  readonly keys?: readonly GatewayKey[];
}

export interface GatewayKeys {
  readonly signingKeys: readonly NamedKey[];
  readonly eventKeys: readonly NamedKey[];
}

/**
 * All keys of a gateway. Those without an environment come first; empty ones count as not given.
 * @throws HoldfastError `OPTION_INVALID`, `SIGNING_KEY_INVALID`, `ENVIRONMENT_INVALID`
 */
export function readGatewayKeys(settings: KeySettings): GatewayKeys {
  const named = (settings.keys ?? []).map(readKey);
  const ofKind = (kind: GatewayKey["kind"]): NamedKey[] => named.flatMap((one) => (one.kind === kind ? [one.key] : []));
  const signing = (["signingKey", "signingKeyFallback"] as const).flatMap((name) => single(name, settings[name]));
  for (const { name, key } of signing) readSigningKey(key, `The gateway's \`${name}\``);
  const signingKeys = distinct([...signing, ...ofKind("signing")]);
  const eventKeys = distinct([...single("eventKey", settings.eventKey), ...ofKind("event")]);
  return { signingKeys, eventKeys };
}

function single(name: string, key: string | undefined): NamedKey[] {
  if (key === undefined || key === "") return [];
  return [{ name, key: typeof key === "string" ? key.trim() : key, environment: null }];
}

function readKey(given: unknown, index: number): { kind: GatewayKey["kind"]; key: NamedKey } {
  const at = `\`keys[${index}]\``;
  if (!isRecord(given)) throw invalid(`${at} must be { name, kind, key, environment? }.`);
  const { name, kind, key, environment, ...others } = given;
  const extra = Object.keys(others)[0];
  if (extra !== undefined)
    throw invalid(`${at} has an unknown field \`${extra}\`; valid fields: name, kind, key, environment.`);
  if (typeof name !== "string" || name.trim() === "") throw invalid(`${at} needs a \`name\`.`);
  if (kind !== "signing" && kind !== "event")
    throw invalid(`The \`kind\` of the key "${name}" must be signing or event.`);
  if (typeof key !== "string" || key.trim() === "") throw invalid(`The key "${name}" has no \`key\`.`);
  if (kind === "signing") readSigningKey(key.trim(), `The gateway's key "${name}"`);
  return { kind, key: { name, key: key.trim(), environment: environmentOf(name, environment) } };
}

function environmentOf(name: string, environment: unknown): string | null {
  if (environment === undefined || environment === null) return null;
  const given = readEnvironmentName(environment, `The gateway's key "${name}"`);
  return given === DEFAULT_ENVIRONMENT_NAME ? DEFAULT_ENVIRONMENT : given;
}

/** Which environment a key opens, and what it is called, must not depend on the order. */
function distinct(keys: readonly NamedKey[]): NamedKey[] {
  for (const [index, one] of keys.entries()) {
    const before = keys.slice(0, index);
    if (before.some(({ name }) => name === one.name)) throw invalid(`Two keys have the name "${one.name}".`);
    const same = before.find(({ key }) => key === one.key);
    if (same && same.environment !== one.environment) {
      throw invalid(`The keys "${same.name}" and "${one.name}" are the same key for two environments.`);
    }
  }
  return [...keys];
}

const invalid = (message: string): HoldfastError => new HoldfastError("OPTION_INVALID", message);
