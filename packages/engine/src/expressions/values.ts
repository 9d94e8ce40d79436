/**
 * The values that expressions work on and come to: JSON in, maps where fields may be missing, JSON out. What copying them
 * costs is charged to the meter, as evaluation is.
 */
import { unstorableIn } from "@holdfast/core";
import { COSTS, chargeFields } from "./costs.ts";
import type { Meter } from "./meter.ts";
import type { Path } from "./tree.ts";

type Fields = ReadonlyMap<string, unknown>;

/** The data as maps, with null for what is missing. */
export function withNulls(meter: Meter, context: object, paths: readonly Path[]): Record<string, unknown> {
  let filled = asMaps(meter, context);
  for (const path of paths) filled = fill(meter, filled, path, 0);
  return Object.fromEntries(filled as Fields);
}

function asMaps(meter: Meter, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  chargeFields(meter, value);
  if (Array.isArray(value)) return value.map((entry) => asMaps(meter, entry));
  return new Map(Object.entries(value).map(([name, entry]) => [name, asMaps(meter, entry)]));
}

function fill(meter: Meter, value: unknown, path: Path, at: number): unknown {
  const name = path[at];
  if (name === undefined) return value ?? null;
  if (value !== undefined && value !== null && !(value instanceof Map)) return value;
  const fields: Fields = value ?? new Map<string, unknown>();
  meter.charge(fields.size * COSTS.key);
  return new Map(fields).set(name, fill(meter, fields.get(name), path, at + 1));
}

/** The value of an expression as JSON: times as ISO text, spans of time in seconds. */
export function toJson(meter: Meter, value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  chargeFields(meter, value);
  if (Array.isArray(value)) return value.map((entry) => toJson(meter, entry));
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, entry]) => [String(key), toJson(meter, entry)]));
  if ("seconds" in value && "nanos" in value && Object.getPrototypeOf(value) !== Object.prototype) {
    return Number(value.seconds) + Number(value.nanos) / 1e9;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return String(value);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, toJson(meter, entry)]));
}

/** What `key` options and the like make of a value: equal values give equal text, others do not once it is UTF-8. */
export function keyText(value: unknown): string {
  return typeof value === "string" && unstorableIn(value) === null ? value : (JSON.stringify(value) ?? "null");
}
