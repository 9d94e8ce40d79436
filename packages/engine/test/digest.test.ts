import { createHmac, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { hmacSha256Under } from "../src/index.ts";

const randomText = (length: number): string =>
  Array.from(randomBytes(length), (byte) => (byte < 200 ? String.fromCharCode(byte) : "ß→𝄞")).join("");

test("a keyed digest is the HMAC-SHA256 that Node makes, for secrets and texts of any length", () => {
  for (const secretLength of [0, 1, 32, 63, 64, 65, 200]) {
    const secret = randomText(secretLength);
    const digest = hmacSha256Under(secret);
    // Short ones after long ones too: nothing is left of what came before.
    for (const length of [0, 1, 55, 56, 64, 959, 960, 961, 5_000, 3, 0]) {
      const text = randomText(length);
      expect(digest(text).toString("hex")).toBe(createHmac("sha256", secret).update(text).digest("hex"));
    }
  }
});

test("a digest stays as it is when the next one is made", () => {
  const digest = hmacSha256Under("secret");
  const first = digest("first");
  const before = first.toString("hex");
  digest("second");
  expect(first.toString("hex")).toBe(before);
});
