import { nodeModule } from "../runtime.ts";

const PREFIX = /^signkey-\w+-/;

/**
 * What is sent instead of the key: its prefix, and the SHA-256 of the rest read as hex digits. Odd lengths get a leading
 * zero, characters that are no letters or digits are dropped, letters beyond "f" make their byte zero: the rules of the
 * agents that are in use, so that the same key gives the same hash.
 */
export function hashSigningKey(key: string): string {
  const prefix = PREFIX.exec(key)?.[0] ?? "";
  return (
    prefix +
    nodeModule("node:crypto")
      .createHash("sha256")
      .update(hexBytes(key.slice(prefix.length)))
      .digest("hex")
  );
}

function hexBytes(text: string): Uint8Array {
  const digits = text.replaceAll(/[^0-9a-zA-Z]/g, "");
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  const bytes = new Uint8Array(even.length / 2);
  for (let i = 0; i < bytes.length; i += 1) {
    const value = Number.parseInt(even.slice(i * 2, i * 2 + 2), 16);
    bytes[i] = Number.isNaN(value) ? 0 : value;
  }
  return bytes;
}

export function isBranchKey(key: string): boolean {
  return key.startsWith("signkey-branch-");
}
