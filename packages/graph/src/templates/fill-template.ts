/** Fills templates in, in any JSON. A text that is one expression keeps the value's type; within text it becomes text. */
import { HoldfastError } from "@holdfast/core";
import { measureJson } from "../json/json-size.ts";
import { parseTemplate, type TemplateExpression, type TemplatePart, type TemplatePath } from "./parse-template.ts";

/** Values by name; undefined: there is none. */
export type Lookup = (name: string) => unknown;

/** Characters that all texts of one config may come to. */
export const MAX_FILLED_CHARS = 4 * 1024 * 1024;

/** Characters that templates may come to: of one config, and of all that it is part of. */
export class FillBudget {
  #left: number;
  readonly #outer: FillBudget | undefined;

  constructor(chars: number, outer?: FillBudget) {
    this.#left = chars;
    this.#outer = outer;
  }

  get left(): number {
    return Math.min(this.#left, this.#outer?.left ?? this.#left);
  }

  /** @throws HoldfastError `GRAPH_VALUE_TOO_LARGE` */
  take(chars: number): void {
    this.#left -= chars;
    this.#outer?.take(chars);
    if (this.#left >= 0) return;
    throw new HoldfastError(
      "GRAPH_VALUE_TOO_LARGE",
      this.#outer === undefined
        ? "The templates come to more text than a run may keep. Pass references to large data."
        : `The templates of one node come to more than ${MAX_FILLED_CHARS} characters.`,
    );
  }
}

/** Deeper than any value that a run has; so deep, only its size counts. */
const ANY_DEPTH = 10_000;

/**
 * The value with all templates in it filled in.
 * @throws HoldfastError `GRAPH_PATH_UNKNOWN` that names the path, `GRAPH_VALUE_TOO_LARGE`
 */
export function fillTemplates(
  value: unknown,
  lookup: Lookup,
  budget: FillBudget = new FillBudget(MAX_FILLED_CHARS, UNLIMITED),
): unknown {
  return fill(value, lookup, budget);
}

const UNLIMITED = new FillBudget(Number.POSITIVE_INFINITY);

function fill(value: unknown, lookup: Lookup, budget: FillBudget): unknown {
  if (typeof value === "string") return fillText(value, lookup, budget);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => fill(each, lookup, budget));
  // A field may be called `__proto__`.
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, lookup, budget)]));
}

function fillText(text: string, lookup: Lookup, budget: FillBudget): unknown {
  if (!text.includes("{{")) return text;
  const parts = parseTemplate(text);
  const [only] = parts;
  if (parts.length > 1 || typeof only !== "object") return parts.map((part) => textOf(part, lookup, budget)).join("");
  const value = valueIn(only, lookup);
  // It is not copied here, but wherever the node's config is written down.
  if (typeof value === "string") budget.take(value.length);
  else if (typeof value === "object" && value !== null) {
    const size = measureJson(value, { maxChars: budget.left, maxDepth: ANY_DEPTH });
    if (size.ok) budget.take(size.chars);
    else if (size.reason === "size") budget.take(budget.left + 1);
  }
  return value;
}

function textOf(part: TemplatePart, lookup: Lookup, budget: FillBudget): string {
  const value = typeof part === "string" ? part : valueIn(part, lookup);
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  budget.take(text.length);
  return text;
}

/** @throws HoldfastError `GRAPH_PATH_UNKNOWN` */
function valueIn({ operands }: TemplateExpression, lookup: Lookup): unknown {
  let found: unknown;
  for (const operand of operands) {
    found = operand.kind === "literal" ? operand.value : valueAt(operand, lookup);
    if (found !== undefined && found !== null) return found;
  }
  // What is there and null is null; a path that leads nowhere is an error unless something follows it.
  if (found === null) return null;
  const last = operands.at(-1) as TemplatePath;
  throw new HoldfastError(
    "GRAPH_PATH_UNKNOWN",
    `There is nothing at \`${last.text}\`: give it a default, such as \`{{${last.text} ?? 'none'}}\`, or correct the path.`,
  );
}

/** Own properties only; undefined where the path leads nowhere. */
function valueAt({ steps }: TemplatePath, lookup: Lookup): unknown {
  const [name, ...rest] = steps;
  if (name === undefined) return undefined;
  let value = lookup(String(name));
  for (const step of rest) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    if (Array.isArray(value) && typeof step !== "number") return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}
