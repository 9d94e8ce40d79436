import { HoldfastError, messageOf } from "@holdfast/core";

/**
 * What an error of the driver means for the write that met it:
 * `connection`: the connection is gone, the fate of a commit may be unknown; `conflict`: the server undid the
 * transaction and the same one may work next time; `data`: the same statement will fail again.
 */
export type PgTrouble = "connection" | "conflict" | "data";

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
  // The server's own: shutting down, crashed, starting up, too many clients, idle for too long in a transaction.
  "57P01",
  "57P02",
  "57P03",
  "57P05",
  "53300",
  "25P03",
]);

const CONFLICT_CODES = new Set(["40001", "40P01", "55P03", "57014", "25P02"]);

export class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";
}

export function troubleOf(error: unknown): PgTrouble {
  const code = codeOf(error);
  if (CONNECTION_CODES.has(code) || /^08...$/.test(code)) return "connection";
  return CONFLICT_CODES.has(code) ? "conflict" : "data";
}

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
  return passwordsOf(url).reduce((safe, password) => safe.replaceAll(password, "***"), withCode);
}

function passwordsOf(url: string): string[] {
  const raw = /^[a-z]+:\/\/[^:@/]*:([^@]*)@/i.exec(url)?.[1] ?? "";
  if (raw === "") return [];
  try {
    return [raw, decodeURIComponent(raw)];
  } catch {
    return [raw];
  }
}

/** Whether the database refused what a write holds, so that the same write is refused each time. */
export function isRefusedForData(error: unknown): boolean {
  return HoldfastError.is(error) && error.code === "STORE_FAILED" && /^(22|23|54)...$/.test(codeOf(error.cause));
}

export function storeFailed(what: string, error: unknown, url: string): HoldfastError {
  if (HoldfastError.is(error)) return error;
  return new HoldfastError("STORE_FAILED", `${what}: ${safeMessage(error, url)}.`, { cause: error });
}
