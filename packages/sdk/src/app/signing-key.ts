import { HoldfastError, readSigningKey } from "@holdfast/core";
import { findNodeModule } from "../runtime.ts";

/**
 * What is sent instead of the key: its prefix, and the SHA-256 of the bytes that its digits stand for, as the workers that
 * are in use make it. `source` is what a refusal calls the key.
 * @throws HoldfastError `SIGNING_KEY_INVALID`, `RUNTIME_UNSUPPORTED`
 */
export function hashSigningKey(key: string, source = "The signing key"): string {
  const { prefix, hex } = readSigningKey(key, source);
  const crypto = findNodeModule("node:crypto");
  if (crypto !== undefined) return prefix + crypto.createHash("sha256").update(hex, "hex").digest("hex");
  const problem = `${source} cannot be used here: this runtime lacks node:crypto. Events need only \`eventKey\`.`;
  throw new HoldfastError("RUNTIME_UNSUPPORTED", problem);
}

export function isBranchKey(key: string): boolean {
  return key.startsWith("signkey-branch-");
}
