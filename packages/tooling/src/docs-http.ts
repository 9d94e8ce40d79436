/**
 * Writes `docs/http-reference.md` from the OpenAPI document that every gateway serves; with `--check` it only reports whether
 * the page is current.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { openApiDocument } from "../../../gateway-mock/src/http/openapi/document.ts";
import { routeTable } from "../../../gateway-mock/test/http/route-table.ts";
import { wrapped } from "./docs-errors.ts";

const file = new URL("../../../docs/http-reference.md", import.meta.url);

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly description?: string;
}

interface Content {
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
  readonly security: readonly object[];
}

export interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** What the SDK calls by itself, and what only tests have, is read last. */
const LAST = ["dashboard", "worker protocol", "testing"];

export function httpPage(document: Document): string {
  const rank = (name: string): number => LAST.indexOf(name);
  const tags = [...document.tags].sort((a, b) => rank(a.name) - rank(b.name));
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  const routes = tags.flatMap(({ name, description }) => [
    "",
    `## ${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    "",
    description,
    ...operations.filter(({ operation }) => operation.tags.includes(name)).flatMap(operationLines),
  ]);
  const shapes = Object.entries(document.components.schemas).flatMap(([name, schema]) => [
    "",
    `### ${name}`,
    "",
    ...(schema.description === undefined ? [] : [schema.description, ""]),
    ...(schema.properties === undefined ? [`${typeOf(schema)}.`] : fieldLines(schema)),
  ]);
  const lines = [
    "<!-- Generated from the routes by `npm run docs:http`; change them there. -->",
    "",
    "# HTTP reference",
    "",
    "Every route of a gateway, as in its `GET /v1/openapi.json`. Begin with [The HTTP API](http-api.md): keys, errors,",
    "times and the routes that most people need.",
    "",
    "If the gateway has keys, a route needs the signing key as `Authorization: Bearer …`, unless it says that it needs none.",
    "Any route may also answer with an [`Error`](#error).",
    ...routes,
    "",
    "## Shapes",
    ...shapes,
  ];
  return `${lines.flatMap((line) => (/^[|#<]/.test(line) ? [line] : wrapped(line))).join("\n")}\n`;
}

function operationLines({ name, operation }: { name: string; operation: Operation }): string[] {
  const { summary, description, parameters = [], requestBody, responses, security } = operation;
  return [
    "",
    `### \`${name}\``,
    "",
    [summary, ...(security.length === 0 ? ["Needs no signing key."] : [])].join(" "),
    ...(description === undefined ? [] : ["", description]),
    ...(parameters.length === 0 ? [] : ["", ...parameterLines(parameters)]),
    ...(requestBody === undefined ? [] : ["", ...bodyLines(requestBody)]),
    "",
    "| status | | |",
    "|---|---|---|",
    ...Object.entries(responses)
      .filter(([status]) => status !== "default")
      .map(
        ([status, answer]) =>
          `| ${status} | ${shownContent(answer)} | ${cell(answer.description).replace(/^As asked\.$/, "")} |`,
      ),
  ];
}

function parameterLines(parameters: NonNullable<Operation["parameters"]>): string[] {
  const rows = parameters.map(({ name, in: place, schema, description, required }) => {
    const note = [cell(description), place === "query" && required ? "Required." : ""].filter((text) => text !== "");
    return `| \`${name}\` | ${place} | ${typeOf(schema)} | ${note.join(" ")} |`;
  });
  return ["| parameter | in | | |", "|---|---|---|---|", ...rows];
}

function bodyLines({ content = {} }: Content): string[] {
  return Object.entries(content).flatMap(([type, { schema }]) => {
    const kind = type === "application/json" ? "" : ` (\`${type}\`)`;
    if (schema.properties === undefined) return [`Body${kind}: ${typeOf(schema)}. ${cell(schema.description)}`.trim()];
    return [`Body${kind}:`, "", ...fieldLines(schema)];
  });
}

function fieldLines({ properties = {}, required = [] }: Schema): string[] {
  if (Object.keys(properties).length === 0) return ["An object."];
  const rows = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? "" : ", may be missing";
    return `| \`${name}\` | ${typeOf(schema)}${optional} | ${cell(describedIn(schema))} |`;
  });
  return ["| field | | |", "|---|---|---|", ...rows];
}

function shownContent({ content = {} }: Content): string {
  const shown = Object.entries(content).map(([type, { schema }]) =>
    type === "application/json" ? typeOf(schema) : `\`${type}\``,
  );
  return shown.join(", ");
}

/** Of a field that may be null, the text stands with what else it may be. */
const describedIn = ({ description, anyOf = [] }: Schema): string | undefined =>
  description ?? anyOf.find((one) => one.description !== undefined)?.description;

/** A schema in a few words. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((one) => `\`${JSON.stringify(one)}\``).join(", ");
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items) : "any JSON"}`;
  if (schema.type === "object" && schema.properties && Object.keys(schema.properties).length > 0) {
    const names = Object.entries(schema.properties).map(([name, one]) => `\`${name}\`: ${typeOf(one)}`);
    return `{ ${names.join(", ")} }`;
  }
  if (schema.format === "date-time") return "time";
  const base = schema.type ?? "any JSON";
  return schema.default === undefined ? base : `${base}, default \`${JSON.stringify(schema.default)}\``;
}

const cell = (text = ""): string => text.replace(/\s+/g, " ").replaceAll("|", "\\|").trim();

function main(): void {
  // The document is data; its own type leaves what is within open.
  const document: Document = JSON.parse(JSON.stringify(openApiDocument(routeTable().app.routes, "0")));
  const page = httpPage(document);
  if (!process.argv.includes("--check")) writeFileSync(file, page);
  else if (!existsSync(file) || readFileSync(file, "utf8") !== page) {
    console.error("docs/http-reference.md does not agree with the routes: run `npm run docs:http`.");
    process.exitCode = 1;
  }
}

if (process.argv[1]?.endsWith("docs-http.ts")) {
  main();
  // Parts of the gateway that serves no caller here.
  process.exit();
}
