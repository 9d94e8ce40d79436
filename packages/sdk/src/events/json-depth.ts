/** Says of values that JSON cannot take, or takes too deep, what is wrong and where. */
import { type ErrorCode, HoldfastError, messageOf } from "@holdfast/core";
import { EVENT_LIMITS, jsonNestsDeeperThan } from "@holdfast/protocol";

const { maxDataDepth: MAX_DEPTH } = EVENT_LIMITS;
/** Of a value that nests so deep its first names tell where to look. */
const NAMED_LEVELS = 5;
const MAX_VALUES = 1_000_000;

/** For a value whose JSON nests too deep, `around` levels of it for what it is in. Begins as "it nests". */
export function depthProblem(value: unknown, around = 0, maxDepth: number = MAX_DEPTH): string {
  const place = deepPlace(value, maxDepth + around);
  const where = place === undefined ? "" : `, at \`${place}\``;
  return `it nests deeper than ${maxDepth} levels${where}. Keep deep data as text`;
}

/** For a value of which `JSON.stringify` threw: its message, but for the stack that a deep value uses up. */
export function jsonProblem(value: unknown, cause: unknown, around = 0): string {
  const message = messageOf(cause);
  // In the words of the engines: the stack is used up, or there is too much recursion.
  const isDeep = /stack|recursion/.test(message) && deepPlace(value, MAX_DEPTH + around) !== undefined;
  return isDeep ? depthProblem(value, around) : message;
}

/**
 * `text` is the JSON of an object that `value` is in.
 * @throws HoldfastError `code` where it nests too deep
 */
export function checkDepth(text: string, value: unknown, what: string, code: ErrorCode, around = 0): void {
  if (!jsonNestsDeeperThan(text, MAX_DEPTH + 1)) return;
  throw new HoldfastError(code, `${what}: ${depthProblem(value, around)}.`);
}

/** The way to the first container below `maxDepth` others; undefined: there is none, or it cannot be read. */
function deepPlace(value: unknown, maxDepth: number): string | undefined {
  const left: (readonly [place: string, value: unknown, depth: number])[] = [["", value, 0]];
  try {
    for (let seen = 0; seen < MAX_VALUES; seen += 1) {
      const next = left.pop();
      if (next === undefined) return undefined;
      const [place, at, depth] = next;
      if (typeof at !== "object" || at === null) continue;
      if (depth >= maxDepth) return `${place.replace(/^\./, "")}${depth > NAMED_LEVELS ? "…" : ""}`;
      for (const [name, inside] of Object.entries(at).reverse()) {
        const step = Array.isArray(at) ? `[${name}]` : `.${name}`;
        left.push([depth < NAMED_LEVELS ? place + step : place, inside, depth + 1]);
      }
    }
  } catch {
    // A getter or a proxy that throws.
  }
  return undefined;
}
