/** What is said of paths that cannot be, and of methods that a path does not have. */
import { HoldfastError } from "@holdfast/core";
import type { Context, Hono } from "hono";
import { notFound } from "./errors.ts";

const NUL = "a NUL character (%00)";
const MAX_SHOWN = 80;

/**
 * Nothing is called so, and the database could not even be asked for it.
 * @throws HoldfastError `BODY_INVALID`
 */
export function refuseNul(c: Context): void {
  if (!c.req.url.includes("%00")) return;
  const { pathname } = new URL(c.req.url);
  const part = pathname.split("/").find((one) => one.includes("%00"));
  const query = Object.entries(c.req.queries()).find(([name, values]) => [name, ...values].join().includes("\0"));
  if (part !== undefined) throw invalid(`The path has ${NUL} in "${part.slice(0, MAX_SHOWN)}"`);
  if (query?.[0].includes("\0")) throw invalid(`The name of a query parameter has ${NUL}`);
  if (query) throw invalid(`The query parameter \`${query[0].slice(0, MAX_SHOWN)}\` has ${NUL}`);
}

const invalid = (problem: string): HoldfastError =>
  new HoldfastError("BODY_INVALID", `${problem}, which nothing here can have.`);

/** Which methods the routes of a path have, in the order of the alphabet; none: there is no such path. */
export function methodsOf(app: Hono): (path: string) => readonly string[] {
  const routes = app.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`) }));
  return (path) => {
    const methods = new Set(routes.flatMap(({ method, pattern }) => (pattern.test(path) ? [method] : [])));
    if (methods.has("GET")) methods.add("HEAD");
    return [...methods].sort();
  };
}

export function noRoute({ method, path }: { method: string; path: string }, methods: readonly string[]): HoldfastError {
  if (methods.length === 0) return notFound(`No route for ${method} ${path}.`);
  return new HoldfastError("METHOD_NOT_ALLOWED", `${path} does not take ${method}; it takes ${methods.join(", ")}.`);
}
