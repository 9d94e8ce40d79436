/** The hashes that pure code uses. */
import { createHash, hash, timingSafeEqual } from "node:crypto";

// Digests and base64 are pure; Node keeps them beside what is not.

export const sha1Hex = (text: string): string => createHash("sha1").update(text).digest("hex");

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** What the key is combined with for the inner and for the outer hash (RFC 2104). */
const [INNER_PAD, OUTER_PAD] = [0x36, 0x5c];

/**
 * HMAC-SHA256 of texts under one secret: the same as `createHmac` gives, for a third of its time, as two hashes that need
 * no object of their own.
 */
export function hmacSha256Under(secret: string): (text: string) => Buffer {
  const given = Buffer.from(secret);
  const key = given.byteLength > BLOCK_BYTES ? createHash("sha256").update(given).digest() : given;
  const innerPad = Buffer.alloc(BLOCK_BYTES, INNER_PAD);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, OUTER_PAD);
  for (const [index, byte] of key.entries()) {
    innerPad[index] = byte ^ INNER_PAD;
    outer[index] = byte ^ OUTER_PAD;
  }
  let inner: Buffer = Buffer.concat([innerPad], 1024);
  return (text) => {
    const mostBytes = BLOCK_BYTES + 3 * text.length;
    if (inner.byteLength < mostBytes) inner = Buffer.concat([innerPad], mostBytes);
    const bytes = BLOCK_BYTES + inner.write(text, BLOCK_BYTES);
    // As text: a buffer for each digest costs as much as the digest.
    outer.write(hash("sha256", inner.subarray(0, bytes), "hex"), BLOCK_BYTES, "hex");
    return Buffer.from(hash("sha256", outer, "hex"), "hex");
  };
}

/** Compares in a time that does not reveal where the two differ. */
export function sameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
