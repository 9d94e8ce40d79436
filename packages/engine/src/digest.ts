/** The hashes that pure code uses. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

// Digests and base64 are pure; Node keeps them beside what is not.

export const sha1Hex = (text: string): string => createHash("sha1").update(text).digest("hex");

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

export const hmacSha256 = (secret: string, text: string): Buffer => createHmac("sha256", secret).update(text).digest();

/** Compares in a time that does not reveal where the two differ. */
export function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
