/**
 * Sorts the driver's errors by what to do about them (lost, conflict, data, unwritable), and makes messages that show
 * no password.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import { StoreError, type StoreFailure } from "@holdfast/store";
import { maskPasswords } from "./url-passwords.ts";

/**
 * What an error of the driver means for the write that met it: `connection`: the connection is gone, or none is given;
 * the fate of a commit may be unknown; `unwritable`: the server answers but cannot write (read-only, a standby, disk
 * full, out of memory, I/O errors); `conflict`: the server undid the transaction and the same one may work next time;
 * `data`: the same statement will fail again.
 */
export type PgTrouble = "connection" | "unwritable" | "conflict" | "data";

const CONNECTION_CODES = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT",
  // The server's own: too many clients, idle for too long in a transaction, no login with what was good before, no such
  // database any more.
  "53300",
  "25P03",
  "28000",
  "28P01",
  "3D000",
]);
/** The protocol's own, and the server's: shutting down, crashed, starting up, database dropped, session timed out. */
const CONNECTION_CLASSES = /^(08...|57P..)$/;

/** Of TLS: no connection is given, as while certificates are changed. */
const TLS_CODES = /^(CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_(TLS|SSL|OSSL)_)/;

/** Read-only, or a standby. */
export const READ_ONLY = "25006";
/** Out of disk, memory or another resource; errors of the system below; what a standby refuses. */
const UNWRITABLE_CODES = /^(25006|53...|58...|55000)$/;
/** The server stops giving out transaction ids; the code is that of statements which are too large, too. */
const OUT_OF_IDS = /wraparound/;

/** The server's limit for a statement was over. */
const STATEMENT_TIMEOUT = "57014";
const CONFLICT_CODES = new Set(["40001", "40P01", "55P03", STATEMENT_TIMEOUT, "25P02"]);

export class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";
}

/** What a call meets that was not even sent, because the database is known to take no writes. */
export class WritesRefused extends Error {
  readonly code = READ_ONLY;
}

export function troubleOf(error: unknown): PgTrouble {
  const code = codeOf(error);
  if (CONNECTION_CODES.has(code) || CONNECTION_CLASSES.test(code) || TLS_CODES.test(code)) return "connection";
  if (UNWRITABLE_CODES.test(code) || (code === "54000" && OUT_OF_IDS.test(messageOf(error)))) return "unwritable";
  return CONFLICT_CODES.has(code) ? "conflict" : "data";
}

const NOT_OPENED_CODES = new Set([
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "53300",
  "28000",
  "28P01",
  "3D000",
]);

/** The server, the database or the user has as many connections as it may have. */
export const isAtLimit = (error: unknown): boolean => codeOf(error) === "53300";

/** No connection came up: none has ended by that. */
export const isNotOpened = (error: unknown): boolean => NOT_OPENED_CODES.has(codeOf(error));

export const isTimeout = (error: unknown): boolean => codeOf(error) === STATEMENT_TIMEOUT;

export function codeOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** The driver's words without the password of the database URL. */
export function safeMessage(error: unknown, url: string): string {
  const code = codeOf(error);
  const text = messageOf(error) || code || "no reason given";
  const withCode = code !== "" && !text.includes(code) ? `${text} (${code})` : text;
  const hint = HINTS.find(([pattern]) => pattern.test(withCode))?.[1];
  return maskPasswords(hint === undefined ? withCode : `${withCode}; ${hint}`, url);
}

/** Where the words of Node or of the server do not say what to do. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    /before secure TLS connection was established/,
    "the server probably offers no TLS: turn on `ssl` in its postgresql.conf, or use sslmode=disable in a network of your own",
  ],
  [
    /\((SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT\w*)\)/,
    "name the file with the certificate of its CA in the database URL: sslrootcert=/path/to/ca.crt",
  ],
  [
    /permission denied for database .*\(42501\)/,
    "let this user make the schema (GRANT CREATE ON DATABASE), or run `holdfast-gateway migrate` as a user who may",
  ],
  [
    /(permission denied for (schema|table|sequence|function)|must be owner of) .*\(42501\)/,
    "the schema belongs to another user of the database, as after a restore by that user: restore it with `pg_restore --no-owner --role=<the gateway's user>`",
  ],
];

export const UNIQUE_VIOLATION = "23505";

/** The code of `holdfast.expect`. */
export const NOT_AS_EXPECTED = "HF001";

/** What an error of the driver means for callers of the store. */
function failureOf(error: unknown): StoreFailure {
  const trouble = troubleOf(error);
  if (trouble === "connection" || trouble === "unwritable") return "unavailable";
  const code = codeOf(error);
  if (code === NOT_AS_EXPECTED) return "outdated";
  return /^(22|23|54)...$/.test(code) ? "data" : "other";
}

export function storeFailed(what: string, error: unknown, url: string): HoldfastError {
  if (HoldfastError.is(error)) return error;
  return new StoreError(failureOf(error), `${what}: ${safeMessage(error, url)}.`, { cause: error });
}
