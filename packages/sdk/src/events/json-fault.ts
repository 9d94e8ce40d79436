/**
 * Finds where in a value `JSON.stringify` fails, once it has: its own message has no place. Reads the value as that does,
 * so code of the author runs again.
 */
import { jsonProblem } from "./json-depth.ts";

const MAX_VALUES = 1_000_000;
/** What nests deeper is refused for that alone. */
const MAX_DEPTH = 500;

/** As `jsonProblem`, with the place in front. */
export function jsonFault(value: unknown, cause: unknown): string {
  const problem = jsonProblem(value, cause);
  const place = faultPlace(value);
  return place === undefined || place === "" ? problem : `at \`${place}\`: ${problem}`;
}

/** Such as `order.lines[0].price`; undefined: it is not found. */
function faultPlace(value: unknown): string | undefined {
  let left = MAX_VALUES;
  /** The containers around what is looked at: one that is in itself is a circle. */
  const around = new Set<object>();
  const faultIn = (read: () => unknown, key: string, place: string): string | undefined => {
    left -= 1;
    if (left < 0 || around.size > MAX_DEPTH) return undefined;
    let one: unknown;
    let keys: readonly string[];
    try {
      one = shownAs(read(), key);
      if (typeof one === "bigint") return place;
      if (typeof one !== "object" || one === null) return undefined;
      keys = Object.keys(one);
    } catch {
      return place;
    }
    const container = one;
    if (around.has(container)) return place;
    around.add(container);
    for (const name of keys) {
      const inside = Array.isArray(container) ? `${place}[${name}]` : `${place}${place === "" ? "" : "."}${name}`;
      const found = faultIn(() => Reflect.get(container, name), name, inside);
      if (found !== undefined) return found;
    }
    around.delete(container);
    return undefined;
  };
  return faultIn(() => value, "", "");
}

/** What `toJSON` makes of it, where it has one. */
function shownAs(value: unknown, key: string): unknown {
  if (value === null || (typeof value !== "object" && typeof value !== "bigint")) return value;
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, key) : value;
}
