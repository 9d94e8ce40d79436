/** The OpenAPI document of a gateway, made of the routes that its router has. Pure. */
import type { TObject, TSchema } from "typebox";
import { type Access, accessOf } from "../guard.ts";
import { type BodyDescription, descriptionOf, isBodyDescription, type RouteDescription } from "./describe-route.ts";
import { ErrorSchema } from "./schemas.ts";

/** A route as the router lists it: once for each handler that it has. */
export interface ListedRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: unknown;
}

export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>>; readonly securitySchemes: object };
}

const TAGS: Readonly<Record<RouteDescription["tag"], string>> = {
  events: "Sending events and signals, and reading stored events.",
  runs: "Starting, listing, showing, waiting for, repairing and cancelling runs.",
  graphs: "Workflows made of nodes and edges: their drafts, versions and runs.",
  functions: "The functions of the apps that have connected.",
  workers: "The workers that are connected.",
  faults: "Failures on request, at gateways for development.",
  gateway: "The gateway itself.",
  dashboard: "Signing in to the page that the gateway serves.",
  "worker protocol": "What the SDK calls by itself. Bodies are messages of the connect protocol.",
  testing: "Only on gateways with virtual time.",
};

/** The routes that the document leaves out, since nothing describes them: `METHOD /path`. Empty in a gateway. */
export function undescribedRoutes(routes: readonly ListedRoute[]): string[] {
  const described = new Set(routes.filter(({ handler }) => descriptionOf(handler)).map(nameOf));
  return [...new Set(routes.filter(({ method }) => method !== "ALL").map(nameOf))].filter(
    (name) => !described.has(name),
  );
}

const nameOf = ({ method, path }: ListedRoute): string => `${method} ${path}`;

export function openApiDocument(routes: readonly ListedRoute[], version: string): OpenApiDocument {
  const schemas: Record<string, object> = {};
  const paths: Record<string, Record<string, object>> = {};
  const used = new Set<string>();
  for (const { method, path, handler } of routes) {
    const description = descriptionOf(handler);
    if (!description) continue;
    used.add(description.tag);
    const place = path.replaceAll(/:(\w+)/g, "{$1}");
    const operations = paths[place] ?? {};
    paths[place] = operations;
    operations[method.toLowerCase()] = operationOf(path, description, (schema) => referred(schema, schemas));
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Holdfast gateway",
      version,
      description:
        "Times are ISO 8601 in fields that end with `At`, and milliseconds since 1970 in those that end with `Ms`.",
    },
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        signingKey: { type: "http", scheme: "bearer", description: "The signing key, or its hash." },
      },
    },
  };
}

type Refer = (schema: TSchema) => object;

function operationOf(path: string, description: RouteDescription, refer: Refer): object {
  const {
    operationId,
    summary,
    description: more,
    tag,
    query,
    body,
    answers,
    failures = {},
    failure = ErrorSchema,
  } = description;
  const parameters = [...pathParameters(path, description), ...(query ? queryParameters(query, refer) : [])];
  const error = { "application/json": { schema: refer(failure) } };
  const failed = Object.entries(failures).map(([status, why]) => [status, { description: why, content: error }]);
  const good = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer, refer)]);
  return {
    operationId,
    summary,
    ...(more === undefined ? {} : { description: more }),
    tags: [tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: contentOf(body, refer) } } : {}),
    responses: {
      ...Object.fromEntries([...good, ...failed]),
      default: { description: "What was wrong, and how to fix it.", content: error },
    },
    security: securityOf(accessOf(path)),
  };
}

function securityOf(access: Access): object[] {
  // The event key is part of the path.
  return access === "signing-key" ? [{ signingKey: [] }] : [];
}

function answerOf(answer: TSchema | BodyDescription | null, refer: Refer): object {
  if (answer === null) return { description: "Done; the body is empty." };
  const body = isBodyDescription(answer) ? answer : { contentType: "application/json", schema: answer };
  const { description } = body.schema as { readonly description?: unknown };
  return { description: textOf(description) ?? "As asked.", content: contentOf(body, refer) };
}

const contentOf = ({ contentType, schema }: BodyDescription, refer: Refer): object => ({
  [contentType]: { schema: refer(schema) },
});

function pathParameters(path: string, { params = {} }: RouteDescription): object[] {
  return Array.from(path.matchAll(/:(\w+)/g), ([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    ...(params[name] === undefined ? {} : { description: params[name] }),
    schema: { type: "string" },
  }));
}

function queryParameters(query: TObject, refer: Refer): object[] {
  const required: readonly string[] = query.required ?? [];
  return Object.entries(query.properties).map(([name, schema]) => {
    const { description, ...rest } = refer(schema) as { readonly description?: string };
    return {
      name,
      in: "query",
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

/** The schema with each part that has a title as a reference to `schemas`, where that part goes. */
function referred(schema: unknown, schemas: Record<string, object>): object {
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy);
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, copy(field)]));
    const title = textOf(fields.title);
    if (title === undefined) return fields;
    schemas[title] = fields;
    return { $ref: `#/components/schemas/${title}` };
  };
  return copy(schema) as object;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
