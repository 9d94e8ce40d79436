/**
 * JSON as lines, of which each says what it shows. Long texts and long lists are shortened one by one, so that what
 * stands after them stays; what is left out is counted. Visits no more than it shows. Pure.
 */
import { countOf, countText } from "./format.ts";

export interface JsonLine {
  readonly indent: number;
  /** As JSON, with its quotes; null: it has none. */
  readonly key: string | null;
  readonly kind: "text" | "digits" | "word" | "bracket" | "left-out";
  /** The value as JSON, or the part of it that stands on this line; of what is left out, how much that is. */
  readonly text: string;
  /** After the text: a quote, a comma. */
  readonly end: string;
  /** Of a text that is shortened, and of what stands for items that are left out. */
  readonly cut: Cut | null;
}

export interface Cut {
  /** Where it stands, for `shown`. */
  readonly path: string;
  readonly shown: number;
  readonly left: number;
}

/** Of a text, if it is longer by more than a few. */
export const TEXT_CHARS = 1_000;
const FEW_CHARS = 200;
const KEY_CHARS = 200;
const ITEMS = 500;
const MOST_LINES = 5_000;

/** How much is shown of what stands at some paths: characters of texts, items of lists and of objects. */
export type Shown = ReadonlyMap<string, number>;

const NONE: Shown = new Map();

interface Place {
  readonly indent: number;
  readonly key: string | null;
  readonly path: string;
  readonly end: "" | ",";
}

export function jsonLines(value: unknown, shown: Shown = NONE, mostLines = MOST_LINES): readonly JsonLine[] {
  const lines: JsonLine[] = [];
  let most = mostLines;
  write(value, { indent: 0, key: null, path: "", end: "" });
  return lines;

  function add(kind: JsonLine["kind"], text: string, place: Place, cut: Cut | null = null): void {
    const { indent, key, end } = place;
    lines.push({ indent, key, kind, text, end: cut !== null && kind === "text" ? `"${end}` : end, cut });
  }

  function write(one: unknown, place: Place): void {
    if (typeof one === "string") writeText(one, place);
    else if (Array.isArray(one)) writeAll(one, null, place);
    else if (typeof one === "object" && one !== null) {
      const fields: Readonly<Record<string, unknown>> = { ...one };
      const keys = Object.keys(fields).filter((key) => fields[key] !== undefined);
      writeAll(
        keys.map((key) => fields[key]),
        keys,
        place,
      );
    } else add(typeof one === "number" ? "digits" : "word", JSON.stringify(one) ?? "null", place);
  }

  function writeText(text: string, place: Place): void {
    const chars = shown.get(place.path) ?? TEXT_CHARS;
    if (text.length <= chars + FEW_CHARS) return add("text", JSON.stringify(text), place);
    const part = firstChars(text, chars);
    const cut = { path: place.path, shown: part.length, left: text.length - part.length };
    add("text", JSON.stringify(part).slice(0, -1), place, cut);
  }

  function writeAll(values: readonly unknown[], keys: readonly string[] | null, place: Place): void {
    const [open, close] = keys === null ? "[]" : "{}";
    if (values.length === 0) return add("bracket", `${open}${close}`, place);
    add("bracket", `${open}`, { ...place, end: "" });
    const indent = place.indent + 1;
    const wanted = shown.get(place.path);
    for (const [index, value] of values.entries()) {
      if (wanted === undefined ? lines.length >= most || index >= ITEMS : index >= wanted) {
        const left = values.length - index;
        const text = `… ${countOf(left, keys === null ? "more item" : "more field")}`;
        const cut = { path: place.path, shown: index, left };
        add("left-out", text, { indent, key: null, path: "", end: "" }, cut);
        break;
      }
      const key = keys === null ? null : keyText(keys[index] ?? "");
      const end = index + 1 < values.length ? "," : "";
      const before = lines.length;
      write(value, { indent, key, path: `${place.path}/${index}`, end });
      // What was asked for takes nothing from the rest.
      if (wanted !== undefined) most += lines.length - before;
    }
    add("bracket", `${close}`, { ...place, key: null });
  }
}

function keyText(key: string): string {
  if (key.length <= KEY_CHARS + FEW_CHARS) return JSON.stringify(key);
  const part = firstChars(key, KEY_CHARS);
  return `${JSON.stringify(part).slice(0, -1)} … ${countText(key.length - part.length)} more characters"`;
}

/** None is cut in two. */
function firstChars(text: string, count: number): string {
  const last = text.charCodeAt(count - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? count - 1 : count);
}
