/**
 * Serves the dashboard's files: `GET /` and `/ui/*`. They are the same for every caller and say nothing of the gateway,
 * so they need no key, and a link on another page may open them. What they show comes from the API, by its rules.
 */
import type { Context, MiddlewareHandler } from "hono";
import { type CallerRules, callerProblem } from "../callers.ts";
import { notFound } from "../errors.ts";
import type { PageFile, PageFiles } from "./files.ts";

/**
 * Nothing from elsewhere, nothing written into the page, no place in another page. `script-src` and `style-src` without
 * `unsafe-inline`; the page sets styles by script, which that allows.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};

/** What all answers with a page have. */
export function setPageHeaders(c: Context, policy: string): void {
  c.header("Content-Security-Policy", policy);
  for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
}

const ASSETS = "/ui/assets/";
export const SESSION_PATH = "/ui/session";

/** Whether a path belongs to the page, and not to the API. */
export const isPagePath = (path: string): boolean =>
  path === "/" || path === "/ui" || (path.startsWith("/ui/") && path !== SESSION_PATH);

/** Answers reads of the page's paths; all else goes on. Stands before the guard. */
export function servePage(files: PageFiles, callers: CallerRules): MiddlewareHandler {
  return async (c, next) => {
    const { path, method } = c.req;
    if ((method !== "GET" && method !== "HEAD") || !isPagePath(path)) return next();
    const problem = pageCallerProblem(c, callers);
    if (problem) throw problem;
    if (path.startsWith(ASSETS)) {
      const file = files.asset(path.slice(ASSETS.length));
      if (!file) throw notFound(`The dashboard has no file ${path.slice(0, 200)}.`);
      return answer(c, file, "public, max-age=31536000, immutable");
    }
    // Which of its views a path names is the page's own affair.
    if (!files.index) throw notFound("This build of the gateway has no dashboard.");
    return answer(c, files.index, "no-cache");
  };
}

/** A link elsewhere may open the page, as a typed address does; no other page may load its parts. */
export function pageCallerProblem(c: Context, callers: CallerRules): Error | undefined {
  const host = c.req.header("host");
  const isVisit = c.req.header("sec-fetch-mode") === "navigate" && c.req.header("sec-fetch-dest") === "document";
  const from = isVisit ? {} : { origin: c.req.header("origin"), fetchSite: c.req.header("sec-fetch-site") };
  return callerProblem({ origin: undefined, fetchSite: undefined, ...from, host }, callers);
}

function answer(c: Context, file: PageFile, cacheControl: string): Response {
  setPageHeaders(c, POLICY);
  c.header("Vary", "Accept-Encoding");
  c.header("Cache-Control", cacheControl);
  c.header("ETag", file.etag);
  if (c.req.header("if-none-match")?.includes(file.etag)) return c.body(null, 304);
  c.header("Content-Type", file.contentType);
  const takesGzip = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
  if (takesGzip) c.header("Content-Encoding", "gzip");
  const bytes = takesGzip ? file.gzipped : file.bytes;
  c.header("Content-Length", String(bytes.byteLength));
  return c.req.method === "HEAD" ? c.body(null) : c.body(bytes);
}
