/**
 * How a route says what it takes and answers: `describe(...)` stands before its handler, and `document.ts` makes the
 * OpenAPI document of what it finds there. Also refuses query parameters that the route does not have.
 */
import { HoldfastError, nearestName } from "@holdfast/core";
import type { MiddlewareHandler } from "hono";
import type { TObject, TSchema } from "typebox";

export interface RouteDescription {
  /** Names the operation in generated clients: `listRuns`. */
  readonly operationId: string;
  /** One sentence. */
  readonly summary: string;
  /** What there is to know beyond that. Markdown. */
  readonly description?: string;
  /** What it is about. */
  readonly tag: RouteTag;
  /** What each parameter in the path is. */
  readonly params?: Readonly<Record<string, string>>;
  /** No other query parameter is taken. Routes of our own API that have none take none (`OWN_TAGS`). */
  readonly query?: TObject;
  readonly body?: BodyDescription;
  /** By status; `null` = no body. */
  readonly answers: Readonly<Record<number, TSchema | BodyDescription | null>>;
  /** Statuses of failures that callers of just this route meet. */
  readonly failures?: Readonly<Record<number, string>>;
  /** What every failure answers. Default: `ErrorSchema`. */
  readonly failure?: TSchema;
}

/** A body that is not JSON, or that may be missing. */
export interface BodyDescription {
  readonly contentType: string;
  readonly schema: TSchema;
}

export type RouteTag =
  | "events"
  | "runs"
  | "graphs"
  | "functions"
  | "workers"
  | "faults"
  | "gateway"
  | "dashboard"
  | "worker protocol"
  | "testing";

/** Whose callers are not bound to another system's protocol: what such a route does not know is a mistake to name. */
const OWN_TAGS: readonly RouteTag[] = ["runs", "graphs", "functions", "workers", "faults"];

const DESCRIPTION = Symbol("description");

type Described = MiddlewareHandler & { readonly [DESCRIPTION]: RouteDescription };

/** Describes the route that it is registered with. */
export function describe(description: RouteDescription): MiddlewareHandler {
  const { query, tag } = description;
  const known = query ? Object.keys(query.properties) : OWN_TAGS.includes(tag) ? [] : undefined;
  const handler: MiddlewareHandler = async (c, next) => {
    if (known) checkQuery(Object.keys(c.req.query()), known);
    await next();
  };
  return Object.assign(handler, { [DESCRIPTION]: description }) satisfies Described;
}

export function descriptionOf(handler: unknown): RouteDescription | undefined {
  return (handler as Partial<Described> | null | undefined)?.[DESCRIPTION];
}

export function isBodyDescription(value: TSchema | BodyDescription): value is BodyDescription {
  return "contentType" in value;
}

function checkQuery(given: readonly string[], known: readonly string[]): void {
  const unknown = given.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = nearestName(unknown, known);
  const hint = near === undefined ? "" : ` Did you mean \`${near}\`?`;
  const all = known.map((name) => `\`${name}\``).join(", ") || "none";
  throw new HoldfastError(
    "BODY_INVALID",
    `There is no query parameter \`${unknown.slice(0, 80)}\`.${hint} This route takes ${all}.`,
  );
}
