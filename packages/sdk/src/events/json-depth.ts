/** Says of values that JSON cannot take, or takes too deep, what is wrong and where. */
import { messageOf } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";

const { maxDataDepth: MAX_DEPTH } = WIRE_LIMITS;
/** Of a value that nests so deep its first names tell where to look. */
const NAMED_LEVELS = 5;
const MAX_VALUES = 1_000_000;

/** For a value whose JSON nests too deep, `around` levels of it for what it is in. Begins as "it nests". */
export function depthProblem(value: unknown, around = 0, maxDepth: number = MAX_DEPTH): string {
  const place = deepPlace(value, maxDepth + around);
  const where = place === undefined ? "" : `, at \`${place}\``;
  return `it nests deeper than ${maxDepth} levels${where}. Keep deep data as text, or as a list whose entries name their parents`;
}

/** For a value of which `JSON.stringify` threw: its message, but for the stack that a deep value uses up. */
export function jsonProblem(value: unknown, cause: unknown, around = 0): string {
  return isRangeError(cause) && deepPlace(value, MAX_DEPTH + around) !== undefined
    ? depthProblem(value, around)
    : messageOf(cause);
}

/** What a getter throws may be a proxy that throws when it is looked at. */
function isRangeError(cause: unknown): boolean {
  try {
    return cause instanceof RangeError;
  } catch {
    return false;
  }
}

/** A container on the way down, and which of its values is looked at next. */
interface Level {
  /** In the container above, such as `.items` or `[0]`. */
  readonly name: string;
  readonly isList: boolean;
  readonly entries: readonly (readonly [string, unknown])[];
  next: number;
}

const levelOf = (name: string, value: object): Level => ({
  name,
  isList: Array.isArray(value),
  entries: Object.entries(value),
  next: 0,
});

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** The way to the first container below `maxDepth` others; undefined: there is none, or it cannot be read. */
function deepPlace(value: unknown, maxDepth: number): string | undefined {
  try {
    const way = isContainer(value) ? [levelOf("", value)] : [];
    for (let seen = 0; seen < MAX_VALUES; seen += 1) {
      const last = way.at(-1);
      if (last === undefined) return undefined;
      if (way.length > maxDepth) return placeOf(way);
      const [name, inside] = last.entries[last.next] ?? [];
      last.next += 1;
      if (name === undefined) way.pop();
      else if (isContainer(inside)) way.push(levelOf(last.isList ? `[${name}]` : `.${name}`, inside));
    }
  } catch {
    // A getter or a proxy that throws.
  }
  return undefined;
}

function placeOf(way: readonly Level[]): string {
  const names = way.slice(1, NAMED_LEVELS + 1).map(({ name }) => name);
  const text = names.join("").replace(/^\./, "");
  return `${text.slice(0, 200)}${way.length - 1 > NAMED_LEVELS ? "…" : ""}`;
}
