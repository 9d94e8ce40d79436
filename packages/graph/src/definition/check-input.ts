/**
 * Input against a graph's JSON Schema (draft 2020-12). Schemas come from people who draw, so what may take long is not
 * there: references, which can be nested without end, and comparisons of all items; patterns are matched in linear time.
 */
import { format, type Schema, Validator } from "@cfworker/json-schema";
import { HoldfastError, messageOf } from "@holdfast/core";
import { RE2JS } from "re2js";
import { isObject } from "../json/json-size.ts";
import type { Graph, JsonSchema } from "./graph.ts";
import { inputWork } from "./input-work.ts";

/** A value that does not fulfil the schema. */
export interface InputProblem {
  /** JSON Pointer to it; "" = the input itself. */
  readonly path: string;
  readonly message: string;
}

const REFUSED = ["$ref", "$dynamicRef", "$recursiveRef", "uniqueItems", "patternProperties"];
const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);
const FORMATS = new Set(["date-time", "date", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname"]);
/** Keywords whose value is one schema, a list of schemas, or schemas by name. */
const ONE = [
  ...["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"],
  ...["unevaluatedItems", "unevaluatedProperties"],
];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "$defs", "dependentSchemas"];
const MAX_PATTERN_LENGTH = 500;
const MAX_PATTERN_SIZE = 2_000;
const SHOWN_PROBLEMS = 5;
/** Schemas that values are held against, some microseconds each; the app does nothing else meanwhile. */
const MAX_INPUT_WORK = 500_000;
const MAX_LISTED_WORK = 20_000;

/** Why a JSON Schema cannot be the `input` of a graph; empty: it can. */
export function schemaProblems(schema: unknown): string[] {
  const problems: string[] = [];
  const visit = (at: unknown, path: string): void => {
    if (typeof at === "boolean") return;
    if (!isObject(at)) {
      problems.push(`${path} is no schema: give an object, true or false`);
      return;
    }
    problems.push(...keywordProblems(at).map((problem) => `${path} ${problem}`));
    for (const [key, each] of innerSchemas(at)) visit(each, `${path}.${key}`);
  };
  visit(schema, "input");
  return problems;
}

function keywordProblems(schema: Readonly<Record<string, unknown>>): string[] {
  const { type, format: name, pattern, required, enum: values } = schema;
  const types = Array.isArray(type) ? type : [type];
  return [
    ...REFUSED.filter((key) => Object.hasOwn(schema, key)).map((key) => `has \`${key}\`, which is not supported`),
    ...(type === undefined || types.every((each) => TYPES.has(each)) ? [] : ["has an unknown `type`"]),
    ...(name === undefined || FORMATS.has(String(name))
      ? []
      : [`has an unknown format; known are ${[...FORMATS].join(", ")}`]),
    ...(pattern === undefined ? [] : patternProblems(pattern)),
    ...(required === undefined || Array.isArray(required) ? [] : ["has a `required` that is no list"]),
    ...(values === undefined || Array.isArray(values) ? [] : ["has an `enum` that is no list"]),
    ...MAPS.filter((key) => schema[key] !== undefined && !isObject(schema[key])).map(
      (key) => `has \`${key}\` that is no object`,
    ),
    ...LISTS.filter((key) => schema[key] !== undefined && !Array.isArray(schema[key])).map(
      (key) => `has \`${key}\` that is no list`,
    ),
  ];
}

function patternProblems(pattern: unknown): string[] {
  if (typeof pattern !== "string" || pattern.length > MAX_PATTERN_LENGTH) {
    return [`has a \`pattern\` that is no text of at most ${MAX_PATTERN_LENGTH} characters`];
  }
  try {
    return RE2JS.compile(pattern).programSize() <= MAX_PATTERN_SIZE ? [] : ["has a `pattern` that is too large"];
  } catch (error) {
    return [`has a \`pattern\` that cannot be used: ${messageOf(error)}`];
  }
}

function innerSchemas(schema: Readonly<Record<string, unknown>>): [string, unknown][] {
  const lists = LISTS.flatMap((key): [string, unknown][] => {
    const list = schema[key];
    return Array.isArray(list) ? list.map((each, index) => [`${key}[${index}]`, each]) : [];
  });
  const maps = MAPS.flatMap((key): [string, unknown][] => {
    const map = schema[key];
    return isObject(map) ? Object.entries(map).map(([name, each]) => [`${key}.${name}`, each]) : [];
  });
  const ones = ONE.flatMap((key): [string, unknown][] => (schema[key] === undefined ? [] : [[key, schema[key]]]));
  return [...ones, ...lists, ...maps];
}

/** What of the input does not fulfil the schema; empty: all does. The schema must have no problems of its own. */
export function inputProblems(schema: JsonSchema, input: unknown): InputProblem[] {
  if (typeof schema === "boolean") return schema ? [] : [{ path: "", message: "The graph takes no input." }];
  const work = inputWork(schema, input, MAX_INPUT_WORK);
  if (work > MAX_INPUT_WORK) {
    const message = `It is too large for its schema: checking it takes more than ${MAX_INPUT_WORK} steps. Pass a reference to the data.`;
    return [{ path: "", message }];
  }
  const checked = linear(schema) as Schema;
  // All that is wrong is worth listing where there is little to look at.
  const { valid, errors } = new Validator(checked, "2020-12", work > MAX_LISTED_WORK).validate(input);
  if (valid) return [];
  const leaves = errors.filter(({ keyword }) => !["properties", "items", "allOf", "$ref"].includes(keyword));
  return (leaves.length > 0 ? leaves : errors).map(({ instanceLocation, error }) => ({
    path: instanceLocation.replace(/^#/, ""),
    message: error.startsWith('String does not match format "re2:') ? "String does not match the pattern." : error,
  }));
}

/**
 * Refuses input that does not fulfil the graph's schema.
 * @throws HoldfastError `GRAPH_INPUT_INVALID`
 */
export function checkGraphInput(graph: Pick<Graph, "id" | "input">, input: unknown): void {
  if (graph.input === undefined) return;
  const problems = inputProblems(graph.input, input);
  if (problems.length === 0) return;
  const shown = problems
    .slice(0, SHOWN_PROBLEMS)
    .map(({ path, message }) => `${path === "" ? "input" : path}: ${message}`);
  throw new HoldfastError("GRAPH_INPUT_INVALID", `The input of the graph "${graph.id}" is invalid. ${shown.join(" ")}`);
}

/** A schema whose patterns are formats of ours: the validator would match them with time that has no bound. */
function linear(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(linear);
  if (!isObject(schema)) return schema;
  const { pattern, ...rest } = schema;
  const copy: Record<string, unknown> = { ...rest };
  for (const key of [...ONE, ...LISTS]) if (copy[key] !== undefined) copy[key] = linear(copy[key]);
  for (const key of MAPS) {
    const map = copy[key];
    if (isObject(map)) copy[key] = Object.fromEntries(Object.entries(map).map(([name, each]) => [name, linear(each)]));
  }
  if (typeof pattern !== "string") return copy;
  const own = [{ format: patternFormat(pattern) }];
  return { ...copy, allOf: Array.isArray(copy.allOf) ? [...copy.allOf, ...own] : own };
}

const MAX_KEPT_PATTERNS = 200;
const kept = new Set<string>();

function patternFormat(pattern: string): string {
  const name = `re2:${pattern}`;
  if (kept.has(name)) return name;
  if (kept.size >= MAX_KEPT_PATTERNS) {
    for (const each of kept) delete format[each];
    kept.clear();
  }
  const compiled = RE2JS.compile(pattern);
  format[name] = (text: string) => compiled.matcher(text).find();
  kept.add(name);
  return name;
}
