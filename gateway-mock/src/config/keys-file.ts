import { readFileSync } from "node:fs";
import { HoldfastError, messageOf } from "@holdfast/core";
import { type GatewayKey, readGatewayKeys } from "./keys-config.ts";

/**
 * Reads a file of keys: a JSON array of `{ "name", "kind", "key", "environment"? }`.
 * @throws HoldfastError `OPTION_INVALID`, `SIGNING_KEY_INVALID`, `ENVIRONMENT_INVALID`
 */
export function readKeysFile(path: string): readonly GatewayKey[] {
  let keys: unknown;
  try {
    keys = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    // What a parser says of a text may quote it.
    const why = error instanceof SyntaxError ? "it is not JSON" : messageOf(error);
    throw new HoldfastError("OPTION_INVALID", `The key file ${path} cannot be read: ${why}.`);
  }
  if (!Array.isArray(keys)) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `The key file ${path} must contain an array of { name, kind, key, environment? }.`,
    );
  }
  readGatewayKeys({ keys });
  return keys;
}
