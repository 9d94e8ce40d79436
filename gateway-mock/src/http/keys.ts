import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { readSigningKey } from "@holdfast/core";

/**
 * What agents send instead of a signing key: its prefix, and SHA-256 of the bytes that its digits stand for.
 * @throws HoldfastError `SIGNING_KEY_INVALID`
 */
export function hashSigningKey(key: string): string {
  const { prefix, hex } = readSigningKey(key, "The signing key");
  return prefix + createHash("sha256").update(hex, "hex").digest("hex");
}

/** Compares in a time that tells nothing about where the two differ. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** Who may do what. Without keys everybody may do everything: the address is this machine's own then. */
export class Keys {
  readonly #hashed: readonly string[];
  readonly #eventKey: string | undefined;
  readonly #secrets: readonly string[];
  readonly #tokenMs: number;

  constructor(options: { signingKeys: readonly string[]; eventKey: string | undefined; tokenMs: number }) {
    this.#hashed = options.signingKeys.map(hashSigningKey);
    this.#eventKey = options.eventKey;
    this.#tokenMs = options.tokenMs;
    // All gateways with the same keys accept each other's tokens.
    this.#secrets = this.#hashed.length > 0 ? this.#hashed : [randomBytes(32).toString("hex")];
  }

  get enforced(): boolean {
    return this.#hashed.length > 0;
  }

  /** Whether an `Authorization` header has one of the signing keys. */
  isSigned(authorization: string | undefined): boolean {
    if (this.#hashed.length === 0) return true;
    const given = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1] ?? "";
    return this.#hashed.map((expected) => sameSecret(given, expected)).includes(true);
  }

  isEventKey(given: string): boolean {
    return this.#eventKey === undefined || sameSecret(given, this.#eventKey);
  }

  /** A token for one socket, good for a few minutes. */
  sessionToken(connectionId: string, nowMs: number): string {
    const expiresMs = nowMs + this.#tokenMs;
    return `${expiresMs}.${mac(this.#secrets[0] ?? "", connectionId, expiresMs)}`;
  }

  isSessionToken(token: string, connectionId: string, nowMs: number): boolean {
    if (!this.enforced) return true;
    const [expires = "", given = ""] = token.split(".");
    const expiresMs = Number(expires);
    if (!Number.isSafeInteger(expiresMs) || expiresMs < nowMs) return false;
    return this.#secrets.map((secret) => sameSecret(given, mac(secret, connectionId, expiresMs))).includes(true);
  }
}

function mac(secret: string, connectionId: string, expiresMs: number): string {
  return createHmac("sha256", secret).update(`${connectionId}.${expiresMs}`).digest("hex");
}
