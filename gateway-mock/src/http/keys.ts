/**
 * Owns signing and event keys and what they open: which environment (docs/decisions/0040), and the session tokens of
 * sockets.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { DEFAULT_ENVIRONMENT_NAME, HoldfastError, readEnvironmentName, readSigningKey } from "@holdfast/core";
import { DEFAULT_ENVIRONMENT } from "@holdfast/store";

/**
 * What workers send instead of a signing key: its prefix, and SHA-256 of the bytes that its digits stand for.
 * @throws HoldfastError `SIGNING_KEY_INVALID`
 */
export function hashSigningKey(key: string): string {
  const { prefix, hex } = readSigningKey(key, "The signing key");
  return prefix + createHash("sha256").update(hex, "hex").digest("hex");
}

/** Compares in a time that does not reveal where the two differ. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** A key that opens something, as the configuration has it. */
export interface NamedKey {
  /** For logs and messages, which never show the key. */
  readonly name: string;
  readonly key: string;
  /** The one environment that it opens; null: any, the caller says which. */
  readonly environment: string | null;
}

export interface KeyOptions {
  readonly signingKeys: readonly NamedKey[];
  readonly eventKeys: readonly NamedKey[];
  readonly tokenMs: number;
}

interface Signer extends NamedKey {
  /** What workers send, and what tokens are signed with: only the key's own holders know it. */
  readonly hash: string;
}

/** A caller with a valid key, or any caller where none is required. */
export interface Bearer {
  /** Null: no keys are required. */
  readonly keyName: string | null;
  readonly environment: string | null;
}

export const EVERYBODY: Bearer = { keyName: null, environment: null };

/** Who may do what, and where. Without keys every caller may do everything: the address is this machine's own then. */
export class Keys {
  readonly #signers: readonly Signer[];
  readonly #eventKeys: readonly NamedKey[];
  readonly #tokenMs: number;
  /** Signs tokens where there are no keys. */
  readonly #ownSecret = randomBytes(32).toString("hex");

  constructor({ signingKeys, eventKeys, tokenMs }: KeyOptions) {
    this.#signers = signingKeys.map((one) => ({ ...one, hash: hashSigningKey(one.key) }));
    this.#eventKeys = eventKeys;
    this.#tokenMs = tokenMs;
  }

  get enforced(): boolean {
    return this.#signers.length > 0;
  }

  /**
   * Whose signing key an `Authorization` header contains; undefined: an unknown key. The key itself opens what its hash
   * does: who has it could compute that.
   */
  signer(authorization: string | undefined): Bearer | undefined {
    if (!this.enforced) return EVERYBODY;
    const given = /^Bearer (\S+)$/.exec(authorization ?? "")?.[1] ?? "";
    const isOf = ({ hash, key }: Signer): boolean => sameSecret(given, hash) || sameSecret(given, key);
    return bearerOf(this.#signers.filter(isOf));
  }

  /** Whom a one-time link signs in: the owner of the first key that opens every environment, or else of the first. */
  get owner(): Bearer {
    const all = this.#signers.find(({ environment }) => environment === null) ?? this.#signers[0];
    return all ? { keyName: all.name, environment: all.environment } : EVERYBODY;
  }

  /** A signature of `text` that only holders of the bearer's key can make; good for one purpose. */
  sign({ keyName }: Bearer, purpose: string, text: string): string {
    const secret = this.#signers.find(({ name }) => name === keyName)?.hash ?? this.#ownSecret;
    return signature(secret, purpose, text);
  }

  /** With whose key `text` was signed; undefined: with none that is accepted. */
  signedBy(purpose: string, text: string, given: string): Bearer | undefined {
    if (!this.enforced) return sameSecret(given, signature(this.#ownSecret, purpose, text)) ? EVERYBODY : undefined;
    return bearerOf(this.#signers.filter(({ hash }) => sameSecret(given, signature(hash, purpose, text))));
  }

  /** Whose event key it is; undefined: an unknown key. */
  sender(given: string): Bearer | undefined {
    if (this.#eventKeys.length === 0) return EVERYBODY;
    return bearerOf(this.#eventKeys.filter(({ key }) => sameSecret(given, key)));
  }

  /** A token for one socket in one environment, good for a few minutes at every gateway that has the signer's key. */
  sessionToken({ keyName }: Bearer, environment: string, connectionId: string, nowMs: number): string {
    const expiresMs = nowMs + this.#tokenMs;
    const secret = this.#signers.find(({ name }) => name === keyName)?.hash ?? this.#ownSecret;
    const where = Buffer.from(environment).toString("base64url");
    return `${expiresMs}.${where}.${mac(secret, connectionId, environment, expiresMs)}`;
  }

  /** The environment of a token that is good; undefined: it is not. A key's token is good for what the key opens. */
  tokenEnvironment(token: string, connectionId: string, nowMs: number): string | undefined {
    const [expires = "", where = "", given = ""] = token.split(".");
    const expiresMs = Number(expires);
    if (!Number.isSafeInteger(expiresMs) || expiresMs < nowMs) return undefined;
    const environment = Buffer.from(where, "base64url").toString();
    const good = this.#signers.filter(
      (one) =>
        sameSecret(given, mac(one.hash, connectionId, environment, expiresMs)) &&
        (one.environment === null || one.environment === environment),
    );
    return good.length > 0 ? environment : undefined;
  }
}

/** What the caller may use: what it asks for, or else its key's own, or else the default one. */
export function environmentFor({ environment, keyName }: Bearer, asked: string | undefined): string {
  const wanted = readEnvironment(asked);
  if (environment === null) return wanted ?? DEFAULT_ENVIRONMENT;
  if (wanted === undefined || wanted === environment) return environment;
  throw new HoldfastError(
    "ENVIRONMENT_REFUSED",
    `The key (${keyName}) belongs to the environment "${shownEnvironment(environment)}", not to "${shownEnvironment(wanted)}".`,
  );
}

/**
 * The environment that the request asks for; undefined: none is named.
 * @throws HoldfastError `ENVIRONMENT_INVALID`
 */
export function readEnvironment(asked: string | undefined): string | undefined {
  if (asked === undefined || asked === "") return undefined;
  const name = readEnvironmentName(asked, "The request");
  return name === DEFAULT_ENVIRONMENT_NAME ? DEFAULT_ENVIRONMENT : name;
}

export const shownEnvironment = (environment: string): string =>
  environment === DEFAULT_ENVIRONMENT ? DEFAULT_ENVIRONMENT_NAME : environment;

function bearerOf([key]: readonly NamedKey[]): Bearer | undefined {
  return key && { keyName: key.name, environment: key.environment };
}

/** What is signed for one purpose is good for no other: each has a secret of its own. */
function signature(secret: string, purpose: string, text: string): string {
  const own = createHmac("sha256", secret).update(`holdfast dashboard ${purpose}`).digest();
  return createHmac("sha256", own).update(text).digest("hex");
}

function mac(secret: string, connectionId: string, environment: string, expiresMs: number): string {
  return createHmac("sha256", secret).update(`${connectionId}.${expiresMs}.${environment}`).digest("hex");
}
