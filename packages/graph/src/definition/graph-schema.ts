/** The JSON Schema of graphs, made of the table of node types: what editors complete and check while people write. */
import { GRAPH_LIMITS } from "./limits.ts";
import { BUILT_IN_TYPES, type BuiltInType, type ConfigField, type FieldKind } from "./node-types.ts";

type Schema = Readonly<Record<string, unknown>>;

const ID = { type: "string", pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$", maxLength: GRAPH_LIMITS.maxIdChars } as const;
const NAME = { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$", maxLength: GRAPH_LIMITS.maxIdChars } as const;
/** Where a value is to come from a template. */
const TEMPLATE = { type: "string", pattern: "\\{\\{" } as const;
const DURATION = { type: ["number", "string"] } as const;

/** Draft 2020-12. It says what shape a graph has; `validateGraph` says whether its parts fit together. */
export const GRAPH_JSON_SCHEMA: Schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Graph",
  description: "A workflow of Holdfast as data: nodes and edges.",
  ...object({ id: ID, title: text(GRAPH_LIMITS.maxTitleChars), nodes: nodes(), edges: edges() }, [
    ...["id", "title", "nodes", "edges"],
  ]),
};
Object.assign(GRAPH_JSON_SCHEMA.properties as object, {
  input: { type: ["object", "boolean"], description: "JSON Schema, draft 2020-12, of the input of a run." },
  trigger: object({
    events: list(object({ event: text(256), if: text(8_192) }, ["event"]), GRAPH_LIMITS.maxTriggers),
    cron: list(object({ cron: text(200), timezone: text(100) }, ["cron"]), GRAPH_LIMITS.maxTriggers),
  }),
});

function object(properties: Schema, required: readonly string[] = []): Schema {
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false };
}

function list(items: Schema, maxItems: number): Schema {
  return { type: "array", items, maxItems };
}

function text(maxLength: number): Schema {
  return { type: "string", maxLength };
}

function edges(): Schema {
  return list(object({ from: ID, handle: ID, to: ID }, ["from", "to"]), GRAPH_LIMITS.maxEdges);
}

function nodes(): Schema {
  const common = {
    id: { ...ID, description: "Unique in the graph; the id of the node's step." },
    type: { type: "string", description: "A built-in type, or one of the app." },
    title: text(GRAPH_LIMITS.maxTitleChars),
    config: { type: "object" },
    outputVariable: { ...NAME, description: "Name of the output in `ctx`; default: the id." },
    joinMode: { enum: ["all", "any"], default: "all" },
    onError: { enum: ["continue", "fail"] },
    retries: { type: "integer", minimum: 0, maximum: GRAPH_LIMITS.maxRetries },
    compensate: object({ type: { type: "string" }, config: { type: "object" } }, ["type"]),
    position: object({ x: { type: "number" }, y: { type: "number" } }, ["x", "y"]),
  };
  const types = Object.entries(BUILT_IN_TYPES).map(([type, { summary, config }]: [string, BuiltInType]) => ({
    if: { properties: { type: { const: type } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      description: summary,
      properties: { config: configSchema(config) },
      ...(Object.values(config).some(({ required }) => required) ? { required: ["config"] } : {}),
    },
  }));
  return { ...list({ ...object(common, ["id", "type"]), allOf: types }, GRAPH_LIMITS.maxNodes), minItems: 1 };
}

/** The JSON Schema of a built-in type's config. */
export function configSchema(config: Readonly<Record<string, ConfigField>>): Schema {
  const fields = Object.entries(config).map(([name, { summary, type }]) => [
    name,
    { description: summary, ...fieldSchema(type) },
  ]);
  const required = Object.entries(config).flatMap(([name, field]) => (field.required ? [name] : []));
  return object(Object.fromEntries(fields), required);
}

function fieldSchema(type: FieldKind): Schema {
  switch (type.kind) {
    case "value":
      return {};
    case "values":
    case "match":
      return { anyOf: [{ type: "object" }, TEMPLATE] };
    case "text":
      return type.templates ? { type: "string", minLength: 1, maxLength: type.maxChars } : ID;
    case "url":
      return { type: "string", minLength: 1, maxLength: type.maxChars };
    case "duration":
    case "instant":
      return DURATION;
    case "name":
      return NAME;
    case "integer":
      return { type: "integer", minimum: type.min, maximum: type.max };
    case "choice":
      return { enum: type.of };
    case "branches":
      return { ...list(object({ id: ID, if: text(8_192) }, ["id", "if"]), GRAPH_LIMITS.maxBranches), minItems: 1 };
    case "code":
    case "waitExpression":
      return { type: "string", minLength: 1 };
  }
}
