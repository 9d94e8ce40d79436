/**
 * The one guard before the router: each path is open, needs the event key, or needs the signing key
 * (docs/decisions/0041). Routes check nothing themselves.
 */
import { HoldfastError } from "@holdfast/core";
import { NO_EVENT_KEY } from "@holdfast/protocol";
import type { Context, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { type CallerRules, callerProblem, isAllowedOrigin } from "./callers.ts";
import { type ErrorDocs, errorBody, refusedEventsBody } from "./errors.ts";
import { type Bearer, environmentFor, type Keys } from "./keys.ts";
import { SESSION_PATH } from "./page/serve-page.ts";
import { checkReadOnly, type PageParts, sessionOf } from "./page/session-guard.ts";

/** What a request must have: nothing, the event key that its path names, or the signing key. */
export type Access = "open" | "event-key" | "signing-key";

declare module "hono" {
  interface ContextVariableMap {
    bearer: Bearer;
    /** Where the caller works. */
    environment: string;
  }
}

export const ENVIRONMENT_HEADER = "x-inngest-env";

/**
 * What load balancers and supervisors ask; they have no keys, and learn nothing but whether the gateway lives. And where
 * the dashboard signs in, which checks what it is given.
 */
const PROBE_PATHS: ReadonlySet<string> = new Set(["/health", "/ready"]);
const OPEN_PATHS: ReadonlySet<string> = new Set([...PROBE_PATHS, SESSION_PATH]);

const EVENT_PATH = /^\/e\/[^/]+$/;

/** Every path is closed that is not named here, also those that do not exist. */
export function accessOf(path: string): Access {
  if (OPEN_PATHS.has(path)) return "open";
  return EVENT_PATH.test(path) ? "event-key" : "signing-key";
}

/** The answer to a request that failed; senders of events read another one than all others. */
export function failureBody(path: string, error: unknown, docsOf: ErrorDocs): ReturnType<typeof errorBody> {
  return accessOf(path) === "event-key" ? refusedEventsBody(error, docsOf) : errorBody(error, docsOf);
}

/** Rejects requests that a foreign page made a browser send. */
export function checkCallers(rules: CallerRules): MiddlewareHandler {
  return async (c, next) => {
    const headers = callerHeaders(c);
    // Load balancers may ask in HTTP/1.0, which has no `Host`. Browsers always send one.
    const isProbe = !headers.host && headers.origin === undefined && PROBE_PATHS.has(c.req.path);
    const problem = isProbe ? undefined : callerProblem(headers, rules);
    if (problem) throw problem;
    await next();
  };
}

function callerHeaders(c: Context): Parameters<typeof callerProblem>[0] {
  return { host: c.req.header("host"), origin: c.req.header("origin"), fetchSite: c.req.header("sec-fetch-site") };
}

/** Lets pages of allowed origins send events and read the answer; no other page may read anything. */
export function allowPages(rules: CallerRules): MiddlewareHandler {
  const allow = cors({ origin: (origin) => origin, allowMethods: ["POST"] });
  return async (c, next) => {
    const origin = c.req.header("origin");
    if (origin !== undefined && isAllowedOrigin(origin, rules)) return allow(c, next);
    await next();
  };
}

/**
 * Stands before every route: a route that is added is closed unless `accessOf` names its path. What people use of the
 * API, a session of the dashboard opens too.
 */
export function guard(keys: Keys, page: PageParts | null): MiddlewareHandler {
  return async (c, next) => {
    if (page) checkReadOnly(c, page);
    const session = page && keys.enforced ? sessionOf(c, page) : undefined;
    if (session) {
      c.set("bearer", session.bearer);
      c.set("environment", environmentFor(session.bearer, c.req.header(ENVIRONMENT_HEADER)));
      return next();
    }
    const headers = { authorization: c.req.header("authorization"), environment: c.req.header(ENVIRONMENT_HEADER) };
    const admitted = admit(c.req.path, headers, keys);
    if (admitted) {
      c.set("bearer", admitted.bearer);
      c.set("environment", admitted.environment);
    }
    await next();
  };
}

/** What comes after works in one environment: what is in others does not exist for it. */
export interface Admitted {
  readonly bearer: Bearer;
  readonly environment: string;
}

/**
 * Whether the caller's key opens the path; null where none is needed.
 * @throws HoldfastError `UNAUTHORIZED`, `ENVIRONMENT_INVALID`, `ENVIRONMENT_REFUSED`
 */
export function admit(
  path: string,
  headers: { readonly authorization: string | undefined; readonly environment: string | undefined },
  keys: Keys,
): Admitted | null {
  const bearer = bearerOf(path, headers.authorization, keys);
  return bearer && { bearer, environment: environmentFor(bearer, headers.environment) };
}

function bearerOf(path: string, authorization: string | undefined, keys: Keys): Bearer | null {
  switch (accessOf(path)) {
    case "open":
      return null;
    case "event-key": {
      const key = eventKeyIn(path);
      const sender = keys.sender(key);
      if (!sender) throw unauthorized(`The event key is ${key === NO_EVENT_KEY ? "missing" : "wrong"}.`);
      return sender;
    }
    case "signing-key": {
      const signer = keys.signer(authorization);
      if (signer) return signer;
      const how = "expected `Authorization: Bearer <the key, or its hash>`";
      throw unauthorized(`The signing key is missing or wrong: ${how}.`);
    }
  }
}

function eventKeyIn(path: string): string {
  const key = path.slice("/e/".length);
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function unauthorized(message: string): HoldfastError {
  return new HoldfastError("UNAUTHORIZED", message);
}
