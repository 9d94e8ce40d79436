import { readSigningKey } from "@holdfast/core";
import { nodeModule } from "../runtime.ts";

/**
 * What is sent instead of the key: its prefix, and the SHA-256 of the bytes that its digits stand for, as the workers that
 * are in use make it. `source` is what a refusal calls the key.
 * @throws HoldfastError `SIGNING_KEY_INVALID`
 */
export function hashSigningKey(key: string, source = "The signing key"): string {
  const { prefix, hex } = readSigningKey(key, source);
  return prefix + nodeModule("node:crypto").createHash("sha256").update(hex, "hex").digest("hex");
}

export function isBranchKey(key: string): boolean {
  return key.startsWith("signkey-branch-");
}
