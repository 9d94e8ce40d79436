/** Serves the pages about error codes: `GET /errors` and `/errors/CODE`. They hold no data, so they need no key. */
import type { MiddlewareHandler } from "hono";
import type { CallerRules } from "../callers.ts";
import { ERRORS_PATH, errorPageOf } from "./error-page.ts";
import type { PageFiles } from "./files.ts";
import { pageCallerProblem, setPageHeaders } from "./serve-page.ts";

/** Without scripts at all: the strictest policy that shows a text with a style. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Stands before the guard, as the dashboard does. */
export function serveErrorPages(files: PageFiles, callers: CallerRules): MiddlewareHandler {
  return async (c, next) => {
    const { path, method } = c.req;
    const code = codeIn(path);
    if ((method !== "GET" && method !== "HEAD") || code === undefined) return next();
    const problem = pageCallerProblem(c, callers);
    if (problem) throw problem;
    const { status, html } = errorPageOf(code, linksOf(files));
    setPageHeaders(c, POLICY);
    c.header("Cache-Control", "no-cache");
    c.header("Content-Type", "text/html; charset=utf-8");
    c.header("Content-Length", String(Buffer.byteLength(html)));
    return method === "HEAD" ? c.body(null, status) : c.body(html, status);
  };
}

/** Empty: the list of all. Undefined: no path of these pages. */
function codeIn(path: string): string | undefined {
  if (path === ERRORS_PATH) return "";
  const [, text] = /^\/errors\/([^/]*)$/.exec(path) ?? [];
  if (text === undefined) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Icon and style of the dashboard, as its build wrote them; their names change with their content. */
function linksOf({ index }: PageFiles): string {
  return (index?.bytes.toString("utf8").match(/<link [^>]*>/g) ?? []).join("\n");
}
