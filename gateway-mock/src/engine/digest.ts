import { createHash } from "node:crypto";

// Digests are pure; Node keeps them beside what is not.

export const sha1Hex = (text: string): string => createHash("sha1").update(text).digest("hex");

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();
