/**
 * What a browser may do with the dashboard's cookie, before any route runs. A browser sends a cookie whichever page
 * asks it to: what changes something needs the session's token too, and must come from the gateway's own page.
 */
import { HoldfastError } from "@holdfast/core";
import type { Context } from "hono";
import type { DashboardMode } from "../../config/gateway-options.ts";
import { type CallerRules, isOwnPage } from "../callers.ts";
import { SESSION_PATH } from "./serve-page.ts";
import { hasToken, type PageSessions, type Session } from "./sessions.ts";

export const CSRF_HEADER = "x-holdfast-csrf";

/** The dashboard of a gateway that has one. */
export interface PageParts {
  readonly mode: Exclude<DashboardMode, "off">;
  readonly sessions: PageSessions;
  readonly callers: CallerRules;
}

const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const isRead = (c: Context): boolean => READS.has(c.req.method);

/**
 * The session by which a request may enter, of paths of the API that people use.
 * @throws HoldfastError `ORIGIN_REFUSED`, `CSRF_REFUSED`
 */
export function sessionOf(c: Context, { sessions, callers }: PageParts): Session | undefined {
  if (c.req.header("authorization") !== undefined || !c.req.path.startsWith("/v1/")) return undefined;
  const session = sessions.read(c.req.header("cookie"));
  if (!session || isRead(c)) return session;
  checkOwnPage(c, callers);
  checkToken(c, session);
  return session;
}

/** @throws HoldfastError `CSRF_REFUSED` */
export function checkToken(c: Context, session: Session): void {
  if (hasToken(session, c.req.header(CSRF_HEADER))) return;
  throw new HoldfastError(
    "CSRF_REFUSED",
    `A session that changes something must send its token in \`${CSRF_HEADER}\`.`,
  );
}

/** @throws HoldfastError `ORIGIN_REFUSED` */
export function checkOwnPage(c: Context, callers: CallerRules): void {
  if (isOwnPage({ host: c.req.header("host"), origin: c.req.header("origin"), fetchSite: undefined }, callers)) return;
  throw new HoldfastError("ORIGIN_REFUSED", "Only the gateway's own page may use its session to change something.");
}

/**
 * With `--dashboard read-only`: what a browser sends from the gateway's own page changes nothing, with keys or without.
 * @throws HoldfastError `DASHBOARD_READ_ONLY`
 */
export function checkReadOnly(c: Context, { mode, callers }: PageParts): void {
  if (mode !== "read-only" || isRead(c) || c.req.path === SESSION_PATH) return;
  if (c.req.header("authorization") !== undefined) return;
  const origin = c.req.header("origin");
  const isOwn =
    c.req.header("sec-fetch-site") === "same-origin" ||
    isOwnPage({ host: c.req.header("host"), origin, fetchSite: undefined }, callers);
  if (isOwn) throw new HoldfastError("DASHBOARD_READ_ONLY", "The dashboard of this gateway only shows.");
}
