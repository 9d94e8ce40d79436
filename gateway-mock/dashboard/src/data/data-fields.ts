/** Fields of a form for JSON data: as a JSON schema has them, or else as an example has them. Pure. */

export interface DataField {
  readonly name: string;
  readonly kind: "text" | "number" | "boolean" | "choice" | "json";
  /** Of a choice: its values as JSON has them. */
  readonly choices: readonly Choice[];
  readonly isRequired: boolean;
  readonly help: string;
  /** As the form begins; of `json` its text. */
  readonly initial: string | boolean;
}

export type Choice = string | number;

interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly title?: string;
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly format?: string;
}

/** More are no form. */
const MOST = 24;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Empty: it is no object that has fields. */
export function fieldsOf(schema: unknown, example: unknown): readonly DataField[] {
  const fields = isObject(schema) ? ofSchema(schema as Schema, example) : ofExample(example);
  return fields.length > MOST ? [] : fields;
}

function ofSchema({ properties, required = [] }: Schema, example: unknown): DataField[] {
  const given = isObject(example) ? example : {};
  return Object.entries(properties ?? {}).map(([name, said]) => {
    const of = withoutNull(said);
    const choices = (of.enum ?? []).filter((one) => typeof one === "string" || typeof one === "number");
    const isChoice = choices.length > 0 && choices.length === of.enum?.length;
    const kind = isChoice ? "choice" : kindOf([of.type ?? []].flat());
    const value = given[name] ?? said.default ?? of.default ?? of.const;
    const isRequired = required.includes(name);
    const help = said.description ?? of.description ?? said.title ?? of.format ?? "";
    return { name, kind, choices, isRequired, help, initial: initialOf(kind, value) };
  });
}

/** Something or null is what it is where it is not null. */
function withoutNull(schema: Schema): Schema {
  const some = schema.anyOf?.filter(({ type }) => type !== "null");
  return some?.length === 1 && some[0] !== undefined ? some[0] : schema;
}

function kindOf(types: readonly string[]): DataField["kind"] {
  const [only, ...more] = types.filter((type) => type !== "null");
  if (more.length > 0) return "json";
  if (only === "string") return "text";
  if (only === "number" || only === "integer") return "number";
  return only === "boolean" ? "boolean" : "json";
}

function ofExample(example: unknown): DataField[] {
  if (!isObject(example)) return [];
  return Object.entries(example).map(([name, value]) => {
    const type = typeof value;
    const kind = type === "string" ? "text" : type === "number" || type === "boolean" ? type : "json";
    return { name, kind, choices: [], isRequired: true, help: "", initial: initialOf(kind, value) };
  });
}

function initialOf(kind: DataField["kind"], value: unknown): string | boolean {
  if (kind === "boolean") return value === true;
  if (value === undefined) return "";
  return kind === "json" ? JSON.stringify(value) : String(value);
}

export type FieldValues = Readonly<Record<string, string | boolean>>;

/** What the fields say, or what is wrong with them; empty ones that are not required are left out. */
export function dataOf(
  fields: readonly DataField[],
  values: FieldValues,
): { readonly data: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  const data: Record<string, unknown> = {};
  for (const { name, kind, choices, isRequired, initial } of fields) {
    const value = values[name] ?? initial;
    if (typeof value === "boolean") data[name] = value;
    else if (value.trim() === "" && kind !== "text") {
      if (isRequired) return { problem: `“${name}” is required.` };
    } else if (value === "" && !isRequired) {
      // Nothing was said of it.
    } else if (kind === "number") {
      const number = Number(value);
      if (!Number.isFinite(number)) return { problem: `“${name}” must be a number.` };
      data[name] = number;
    } else if (kind === "json") {
      try {
        data[name] = JSON.parse(value);
      } catch {
        return { problem: `“${name}” must be JSON: text stands in quotes.` };
      }
    } else data[name] = kind === "choice" ? (choices.find((one) => String(one) === value) ?? value) : value;
  }
  return { data };
}

/** A JSON object from a text; null: it is none. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
