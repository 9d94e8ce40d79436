/**
 * The one guard before the router: each path is open, needs the event key, or needs the signing key
 * (docs/decisions/0041). Routes check nothing themselves.
 */
import { HoldfastError } from "@holdfast/core";
import type { Context, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { type CallerRules, callerProblem, isAllowedOrigin } from "./callers.ts";
import { type Bearer, environmentFor, type Keys } from "./keys.ts";

/** What a request must have: nothing, the event key that its path names, or the signing key. */
export type Access = "open" | "event-key" | "signing-key";

declare module "hono" {
  interface ContextVariableMap {
    bearer: Bearer;
    /** Where the caller works. */
    environment: string;
  }
}

const ENVIRONMENT_HEADER = "x-inngest-env";

/** What load balancers and supervisors ask; they have no keys, and learn nothing but whether the gateway lives. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/health", "/ready"]);

const EVENT_PATH = /^\/e\/[^/]+$/;

/** Every path is closed that is not named here, also those that do not exist. */
export function accessOf(path: string): Access {
  if (OPEN_PATHS.has(path)) return "open";
  return EVENT_PATH.test(path) ? "event-key" : "signing-key";
}

/** Rejects requests that a foreign page made a browser send. */
export function checkCallers(rules: CallerRules): MiddlewareHandler {
  return async (c, next) => {
    const problem = callerProblem(callerHeaders(c), rules);
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

/** Stands before every route: a route that is added is closed unless `accessOf` names its path. */
export function guard(keys: Keys): MiddlewareHandler {
  return async (c, next) => {
    switch (accessOf(c.req.path)) {
      case "open":
        break;
      case "event-key":
        admit(c, keys.sender(eventKeyIn(c.req.path)), "The event key is wrong.");
        break;
      case "signing-key": {
        const how = "expected `Authorization: Bearer <its hash>`";
        admit(c, keys.signer(c.req.header("authorization")), `The signing key is missing or wrong: ${how}.`);
        break;
      }
    }
    await next();
  };
}

/** What comes after works in one environment: what is in others does not exist for it. */
function admit(c: Context, bearer: Bearer | undefined, refusal: string): void {
  if (!bearer) throw unauthorized(refusal);
  c.set("bearer", bearer);
  c.set("environment", environmentFor(bearer, c.req.header(ENVIRONMENT_HEADER)));
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
