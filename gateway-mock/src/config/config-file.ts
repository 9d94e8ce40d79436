/** Reads the configuration file: a JSON object of options by their names (docs/decisions/0077). */
import { readFileSync } from "node:fs";
import { HoldfastError, messageOf, nearestName } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { gatewayRows } from "./modes.ts";
import { type ConfigFile, usage } from "./settings.ts";

/** Where editors find what may be in it; ignored. */
const SCHEMA = "$schema";

/**
 * What a file may hold: the options of a gateway, and how it logs. Undefined: there is none.
 * @throws HoldfastError `GATEWAY_USAGE`, as for other files that the command line names
 */
export function readGatewayFile(path: string | undefined): ConfigFile | undefined {
  if (path === undefined) return undefined;
  try {
    return readConfigFile(path, [...Object.keys(gatewayRows()), "logLevel", "logFormat"]);
  } catch (error) {
    throw HoldfastError.is(error) && error.code === "OPTION_INVALID" ? usage(error.message) : error;
  }
}

/**
 * `names`: what may be in it.
 * @throws HoldfastError `OPTION_INVALID`
 */
export function readConfigFile(path: string, names: readonly string[]): ConfigFile {
  const values = parsed(path);
  const unknown = Object.keys(values).filter((name) => name !== SCHEMA && !names.includes(name));
  if (unknown.length === 0) return { path, values };
  const shown = unknown.map((name) => {
    const near = nearestName(name, names);
    return `\`${name}\`${near === undefined ? "" : ` (did you mean \`${near}\`?)`}`;
  });
  throw new HoldfastError("OPTION_INVALID", `The configuration file ${path} has unknown options: ${shown.join(", ")}.`);
}

function parsed(path: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    // What a parser says of a text may quote it, and there may be keys in it.
    const why = error instanceof SyntaxError ? "it is not JSON" : messageOf(error);
    throw new HoldfastError("OPTION_INVALID", `The configuration file ${path} cannot be read: ${why}.`);
  }
  if (isRecord(value)) return value;
  throw new HoldfastError("OPTION_INVALID", `The configuration file ${path} must hold an object: { "port": 8288 }.`);
}
