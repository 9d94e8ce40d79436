/** Pages about error codes, as HTML without a script: what `holdfast-gateway explain` prints, for browsers. Pure. */
import { ERROR_CATALOGUE, type ErrorCode, errorPage, nearestNames } from "@holdfast/core";
import type { ErrorDocs } from "../errors.ts";

/** Below it every code has its page; it lists all of them itself. */
export const ERRORS_PATH = "/errors";

/** How many codes are offered for one that there is not. */
const OFFERED = 5;
const MAX_SHOWN = 80;

export interface ErrorPage {
  readonly status: 200 | 404;
  readonly html: string;
}

/** In the public documentation, where there is one; else at the address by which people reach this gateway. */
export function errorDocsAt(publicUrl: string | undefined): ErrorDocs {
  const own = (code: ErrorCode): string | undefined =>
    publicUrl === undefined ? undefined : `${publicUrl}${ERRORS_PATH}/${code}`;
  return (code) => errorPage(code) ?? own(code);
}

const isCode = (text: string): text is ErrorCode => Object.hasOwn(ERROR_CATALOGUE, text);
const CODES = Object.keys(ERROR_CATALOGUE).filter(isCode);

/** `links` is HTML of the dashboard's own: its icon and style. */
export function errorPageOf(given: string, links: string): ErrorPage {
  const code = given.trim().toUpperCase();
  if (code === "") return { status: 200, html: page("Error codes", listOf(CODES), links) };
  if (isCode(code)) return { status: 200, html: page(code, explanationOf(code), links) };
  return { status: 404, html: page("There is no such code", nearCodes(code), links) };
}

function explanationOf(code: ErrorCode): string {
  const { summary, fix } = ERROR_CATALOGUE[code];
  return `<section><h2>What it means</h2><p>${prose(summary)}</p></section>
<section><h2>What to do</h2><p>${prose(fix)}</p></section>
<p class="faint">On a command line: <code>holdfast-gateway explain ${code}</code></p>
<p><a href="${ERRORS_PATH}">All codes</a></p>`;
}

function nearCodes(code: string): string {
  const shown = code.length > MAX_SHOWN ? `${code.slice(0, MAX_SHOWN)}…` : code;
  return `<p class="lead">No error has the code <code><bdi>${escaped(shown)}</bdi></code>. These come closest:</p>
${listOf(nearestNames(code.slice(0, MAX_SHOWN), CODES, OFFERED))}
<p><a href="${ERRORS_PATH}">All codes</a></p>`;
}

function listOf(codes: readonly string[]): string {
  const entries = codes.filter(isCode).map((code) => {
    const { summary } = ERROR_CATALOGUE[code];
    return `<dt><a href="${ERRORS_PATH}/${code}"><code>${code}</code></a></dt><dd>${prose(summary)}</dd>`;
  });
  return `<dl class="codes">\n${entries.join("\n")}\n</dl>`;
}

const MARK =
  '<svg viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="8" fill="var(--accent)" /><path d="M11 7v18M21 7v18M11 16h10" fill="none" stroke="var(--on-accent)" stroke-width="3" stroke-linecap="round" /></svg>';

const page = (title: string, body: string, links: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<meta name="robots" content="noindex" />
<title>${title} · Holdfast</title>
${links}
</head>
<body>
<div class="error-page">
<header><a class="brand" href="/">${MARK}Holdfast</a></header>
<main>
<h1>${title}</h1>
${body}
</main>
</div>
</body>
</html>
`;

/** What stands between backticks is code. */
const prose = (text: string): string => escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>");

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? one);
