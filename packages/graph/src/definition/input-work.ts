/**
 * How much work it is to check an input by a schema: every schema that every value would be held against, counted in
 * advance and up to a limit. A list of alternatives and a list of items are small each, and their product is not.
 */
import { isObject, own } from "../json/json-size.ts";

/** Keywords whose schemas look at the same value. */
const SAME = ["allOf", "anyOf", "oneOf"];
const SAME_ONE = ["not", "if", "then", "else"];
/** Values of an `enum` that cost as much as one schema. */
const ENUM_VALUES = 20;

type Pair = readonly [schema: unknown, value: unknown];

/** The number of checks; more than `limit` once it is exceeded. */
export function inputWork(schema: unknown, input: unknown, limit: number): number {
  const open: Pair[] = [[schema, input]];
  let work = 0;
  for (let pair = open.pop(); pair !== undefined && work <= limit; pair = open.pop()) {
    const [at, value] = pair;
    work += 1;
    if (!isObject(at)) continue;
    const values = own(at, "enum");
    if (Array.isArray(values)) work += values.length / ENUM_VALUES;
    for (const key of SAME) for (const each of listOf(own(at, key))) open.push([each, value]);
    for (const key of SAME_ONE) if (at[key] !== undefined) open.push([at[key], value]);
    if (Array.isArray(value)) work += pushItems(at, value, open, limit);
    else if (isObject(value)) work += pushFields(at, value, open, limit);
  }
  return work;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Nothing is pushed of what alone exceeds the limit. */
function pushItems(
  schema: Readonly<Record<string, unknown>>,
  items: readonly unknown[],
  open: Pair[],
  limit: number,
): number {
  if (items.length > limit) return items.length;
  for (const [index, each] of listOf(schema.prefixItems).entries()) open.push([each, items[index]]);
  for (const key of ["items", "contains", "unevaluatedItems"]) {
    if (schema[key] !== undefined) for (const item of items) open.push([schema[key], item]);
  }
  return 0;
}

function pushFields(
  schema: Readonly<Record<string, unknown>>,
  value: Readonly<Record<string, unknown>>,
  open: Pair[],
  limit: number,
): number {
  const keys = Object.keys(value);
  if (keys.length > limit) return keys.length;
  const { properties, dependentSchemas } = schema;
  for (const [key, each] of entriesOf(properties)) if (Object.hasOwn(value, key)) open.push([each, value[key]]);
  for (const [key, each] of entriesOf(dependentSchemas)) if (Object.hasOwn(value, key)) open.push([each, value]);
  for (const name of ["additionalProperties", "unevaluatedProperties"]) {
    if (schema[name] === undefined) continue;
    for (const key of keys) if (own(properties, key) === undefined) open.push([schema[name], value[key]]);
  }
  if (schema.propertyNames !== undefined) for (const key of keys) open.push([schema.propertyNames, key]);
  return entriesOf(properties).length / ENUM_VALUES;
}

const entriesOf = (value: unknown): readonly [string, unknown][] => (isObject(value) ? Object.entries(value) : []);
