import { HoldfastError } from "./errors.ts";

const PREFIX = /^signkey-\w+-/;
const MIN_DIGITS = 32;

/** A signing key in its two parts: the prefix (may be empty), and the hex digits that are hashed. */
export interface SigningKey {
  readonly prefix: string;
  readonly hex: string;
}

/**
 * Reads a signing key. What is hashed is the bytes that the digits stand for, so anything but hex would count as less than
 * was typed: such a key is refused. The message never shows the key; `source` is what it calls it.
 * @throws HoldfastError `SIGNING_KEY_INVALID`
 */
export function readSigningKey(key: unknown, source: string): SigningKey {
  if (typeof key !== "string") throw refused(source, "must be a string");
  const prefix = PREFIX.exec(key)?.[0] ?? "";
  const hex = key.slice(prefix.length);
  if (!/^[0-9a-fA-F]*$/.test(hex)) throw refused(source, "contains characters other than hex digits after its prefix");
  if (hex.length < MIN_DIGITS) throw refused(source, `has ${hex.length} hex digits, and needs at least ${MIN_DIGITS}`);
  if (hex.length % 2 !== 0) throw refused(source, `has ${hex.length} hex digits, an odd number: one is missing`);
  return { prefix, hex };
}

function refused(source: string, problem: string): HoldfastError {
  const how = "make one with `openssl rand -hex 32`, with or without a prefix such as signkey-prod-";
  return new HoldfastError("SIGNING_KEY_INVALID", `${source} ${problem}; ${how}.`);
}
