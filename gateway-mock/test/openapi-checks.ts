/** Holds answers of a gateway against the OpenAPI document: which operation a request is, and whether its answer fits. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { OpenApiDocument } from "../src/http/openapi/document.ts";

export interface SeenAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly contentType: string | null;
  readonly text: string;
}

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

interface Place {
  readonly pattern: RegExp;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Tests of large answers count what is parsed. */
const MAX_CHECKED = 64 * 1024;

export class AnswerChecks {
  readonly #ajv: Ajv2020;
  readonly #places: readonly Place[];
  readonly #compiled = new Map<object, ValidateFunction>();

  constructor(document: OpenApiDocument) {
    const closed = closeObjects(document) as OpenApiDocument;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    formats.default(this.#ajv);
    this.#ajv.addFormat("binary", true);
    this.#ajv.addSchema({ $id: "openapi", components: closed.components });
    // `/v1/runs/stream` before `/v1/runs/{id}`.
    const paths = Object.entries(closed.paths).sort(([a], [b]) => a.split("{").length - b.split("{").length);
    this.#places = paths.map(([path, operations]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
      operations: operations as Place["operations"],
    }));
  }

  /** What is wrong with it; null when it is as described, or not an answer of a route. */
  problemOf({ method, path, status, contentType, text }: SeenAnswer): string | null {
    const operation = this.#places.find(({ pattern }) => pattern.test(path))?.operations[method.toLowerCase()];
    if (!operation) return null;
    const described = operation.responses[status] ?? operation.responses.default;
    const name = `${method} ${path} answered ${status}`;
    if (status < 400 && operation.responses[status] === undefined) return `${name}, which is not described.`;
    const content = described?.content;
    if (!content) return text === "" ? null : `${name} with a body, which is not described.`;
    const type = contentType?.split(";")[0] ?? "";
    const schema = content[type]?.schema;
    if (!schema) return `${name} with content type "${type}"; described are ${Object.keys(content).join(", ")}.`;
    if (type !== "application/json" || text.length > MAX_CHECKED) return null;
    const validate = this.#validatorOf(schema);
    if (validate(JSON.parse(text))) return null;
    return `${name} other than described: ${this.#ajv.errorsText(validate.errors)}\n${text.slice(0, 2000)}`;
  }

  #validatorOf(schema: object): ValidateFunction {
    const known = this.#compiled.get(schema);
    if (known) return known;
    const made = this.#ajv.compile(absoluteRefs(schema));
    this.#compiled.set(schema, made);
    return made;
  }
}

/** A field that is not described is an error, unless its object says that it has any. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, closeObjects(field)]));
  const isObjectSchema = copy.type === "object" && typeof copy.properties === "object";
  return isObjectSchema && copy.additionalProperties === undefined ? { ...copy, additionalProperties: false } : copy;
}

function absoluteRefs(value: object): object {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/components/', '"openapi#/components/')) as object;
}
