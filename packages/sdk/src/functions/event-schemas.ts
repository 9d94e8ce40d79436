/**
 * What an app sends of the schemas of its events: JSON Schema, as far as they can say it (Standard JSON Schema). Forms are
 * made of it. Data is checked by the schemas themselves, here.
 */

import type { SchemaMap } from "../events/event-types.ts";
import type { JsonSchemaSource, StandardSchema } from "../events/standard-schema.ts";
import type { FunctionConfig } from "./function-config.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** What is larger or deeper is no form, and is not sent: characters of JSON of one schema, of one function, of all. */
export const EVENT_SCHEMA_LIMITS = { schema: 16_384, function: 49_152, connection: 524_288, depth: 24 } as const;

/** The schemas that one connection sends, within the limits. What is left out changes nothing but forms. */
export class EventSchemas {
  #room: number = EVENT_SCHEMA_LIMITS.connection;
  readonly #said = new Map<StandardSchema, JsonSchema | null>();

  /** The configuration with the schemas of its events: those of its triggers, or else those of the client, by name. */
  addedTo(
    config: FunctionConfig,
    own: ReadonlyMap<string, StandardSchema>,
    shared: SchemaMap | undefined,
  ): FunctionConfig {
    const eventSchemas: Record<string, JsonSchema> = {};
    let room = Math.min(this.#room, EVENT_SCHEMA_LIMITS.function);
    for (const [name, schema] of schemasOfTriggers(config, own, shared)) {
      const said = this.#saidBy(schema);
      const length = said === null ? 0 : JSON.stringify([name, said]).length;
      if (said === null || length > room) continue;
      room -= length;
      this.#room -= length;
      // A name such as "__proto__" is one, too.
      Object.defineProperty(eventSchemas, name, { value: said, enumerable: true });
    }
    if (Object.keys(eventSchemas).length === 0) return config;
    return { ...config, holdfast: { ...(config.holdfast as object | undefined), eventSchemas } };
  }

  #saidBy(schema: StandardSchema): JsonSchema | null {
    const known = this.#said.get(schema);
    if (known !== undefined) return known;
    const said = jsonSchemaOf(schema);
    this.#said.set(schema, said);
    return said;
  }
}

/** A trigger for many events has the client's schema of each: that is how their data is checked. */
function* schemasOfTriggers(
  { triggers }: FunctionConfig,
  own: ReadonlyMap<string, StandardSchema>,
  shared: SchemaMap = {},
): Generator<readonly [string, StandardSchema]> {
  const names = new Set<string>();
  for (const { event: pattern } of triggers) {
    if (pattern === undefined) continue;
    if (!pattern.endsWith("*")) names.add(pattern);
    else for (const name of Object.keys(shared)) if (name.startsWith(pattern.slice(0, -1))) names.add(name);
  }
  for (const name of names) {
    const schema = own.get(name) ?? (Object.hasOwn(shared, name) ? shared[name] : undefined);
    if (schema !== undefined) yield [name, schema];
  }
}

/** JSON Schema of the data that it takes; null: it cannot say that, or says too much. */
function jsonSchemaOf(schema: StandardSchema): JsonSchema | null {
  try {
    const standard: StandardSchema["~standard"] & JsonSchemaSource = schema["~standard"];
    // Of one field that has no JSON Schema zod would not say the others.
    const extra = standard.vendor === "zod" ? { libraryOptions: { unrepresentable: "any" } } : {};
    const { $schema: _, ...said } = standard.jsonSchema?.input({ target: "draft-2020-12", ...extra }) ?? {};
    const json = JSON.stringify(said);
    if (json === "{}" || json.length > EVENT_SCHEMA_LIMITS.schema) return null;
    const plain: JsonSchema = JSON.parse(json);
    return isDeeper(plain, EVENT_SCHEMA_LIMITS.depth) ? null : plain;
  } catch {
    return null;
  }
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1)));
