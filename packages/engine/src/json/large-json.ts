/** Builds the outer levels of large JSON and keeps the rest as text (docs/decisions/0049). */
import { HoldfastError } from "@holdfast/core";
import { type FoundValue, JsonScanner, type JsonVisitor } from "./json-scanner.ts";
import { type JsonMember, JsonText } from "./json-text.ts";

export interface LargeJsonOptions {
  /** For messages. */
  readonly what: string;
  /** How many containers deep it is built: 1 = the outermost. What is in them is built as well where it is short. */
  readonly levels: number;
  readonly maxDepth: number;
  /** Of which field a long string is kept as text, too; "" = of none, so of what is all of it. */
  readonly textOf?: string;
  /** No character below 0x20 is in it. */
  readonly isWithoutControls?: boolean;
  /** A field that the object `of` is to lose; where it is short its reader sees to that. */
  readonly dropped?: { readonly of: string; readonly field: string };
}

/** Longer lists and objects are kept as text. */
export const SHORT_CHARS = 16 * 1024;
/** One more than events may be in a request; nothing else that is built has so many. */
const MAX_ENTRIES = 5_001;

type Fields = Record<string, unknown>;

/** Reads JSON of any size in turns. No turn does more than look at its own share of the text. */
export class LargeJsonReader {
  readonly #text: string;
  readonly #options: LargeJsonOptions;
  readonly #scanner: JsonScanner;
  readonly #built: (unknown[] | Fields)[] = [];
  readonly #counts: number[] = [];
  readonly #members: Members;
  readonly #innermost: { readonly start: number; readonly end: number }[] = [];
  #value: unknown;

  constructor(text: string, options: LargeJsonOptions) {
    const { levels, what, maxDepth, dropped, isWithoutControls = false } = options;
    this.#text = text;
    this.#options = options;
    this.#members = new Members(text, dropped);
    const visitor: JsonVisitor = {
      depth: levels + 1,
      open: (depth, isList, keyStart, keyEnd) => this.#open(depth, isList, keyStart, keyEnd),
      value: (found) => this.#addValue(found),
    };
    this.#scanner = new JsonScanner(text, { what, maxDepth, visitor, isWithoutControls });
  }

  /**
   * Goes on for about so many characters. True when all is read.
   * @throws HoldfastError `FRAME_INVALID`, `BODY_TOO_LARGE`
   */
  scan(chars: number): boolean {
    return this.#scanner.scan(chars);
  }

  /** Once all is read. */
  get value(): unknown {
    return this.#value;
  }

  /** Where the containers on the last level that is built are. */
  get innermost(): readonly { readonly start: number; readonly end: number }[] {
    return this.#innermost;
  }

  #open(depth: number, isList: boolean, keyStart: number, keyEnd: number): void {
    const { levels } = this.#options;
    if (depth < levels) {
      this.#built[depth] = isList ? [] : {};
      this.#counts[depth] = 0;
    } else if (depth === levels) this.#members.begin(isList, keyStart, keyEnd);
  }

  #addValue(found: FoundValue): void {
    const { levels } = this.#options;
    const { depth, start, end } = found;
    if (depth > levels) return this.#members.add(found);
    const code = this.#text.charCodeAt(start);
    const isContainer = code === 0x7b || code === 0x5b;
    if (isContainer && depth === levels - 1) this.#innermost.push({ start, end });
    const value = isContainer && depth < levels ? this.#built[depth] : this.#read(found, isContainer);
    if (depth === 0) this.#value = value;
    else this.#put(depth - 1, found, value);
  }

  #put(depth: number, { keyStart, keyEnd }: FoundValue, value: unknown): void {
    const into = this.#built[depth];
    const count = (this.#counts[depth] ?? 0) + 1;
    this.#counts[depth] = count;
    if (count > MAX_ENTRIES) {
      const { what } = this.#options;
      throw new HoldfastError("BODY_TOO_LARGE", `${what} has more than ${MAX_ENTRIES - 1} entries on one level.`);
    }
    if (Array.isArray(into)) into.push(value);
    else if (into) {
      const key = JSON.parse(this.#text.slice(keyStart, keyEnd)) as string;
      if (key !== "__proto__") into[key] = value;
    }
  }

  #isTextOf({ keyStart, keyEnd }: FoundValue): boolean {
    const { textOf } = this.#options;
    return textOf !== undefined && (keyStart < 0 ? "" : this.#text.slice(keyStart + 1, keyEnd - 1)) === textOf;
  }

  #read(found: FoundValue, isContainer: boolean): unknown {
    const { start, end, values } = found;
    const text = this.#text.slice(start, end);
    if (end - start <= SHORT_CHARS) return JSON.parse(text);
    if (isContainer) return this.#members.takeText(start, end, values);
    return this.#isTextOf(found) ? new JsonText(text, 1, null) : JSON.parse(text);
  }
}

/** More are not told apart: the object is only its text then. */
export const MAX_MEMBERS = 10_000;

/** The fields of an object that is kept as text, without the one that it is to lose. */
class Members {
  readonly #text: string;
  readonly #dropped: LargeJsonOptions["dropped"];
  #all: JsonMember[] | null = null;
  /** Fields that stay, as stretches of text. */
  #stretches: string[] = [];
  #from = -1;
  #to = -1;
  #isCut = false;
  #loses = false;

  constructor(text: string, dropped: LargeJsonOptions["dropped"]) {
    this.#text = text;
    this.#dropped = dropped;
  }

  begin(isList: boolean, keyStart: number, keyEnd: number): void {
    this.#all = isList ? null : [];
    this.#stretches = [];
    this.#from = -1;
    this.#isCut = false;
    const { of } = this.#dropped ?? {};
    this.#loses = of !== undefined && this.#is(keyStart, keyEnd, of);
  }

  add({ keyStart, keyEnd, start, end, values }: FoundValue): void {
    if (keyStart < 0) return;
    if (this.#loses && this.#is(keyStart, keyEnd, this.#dropped?.field ?? "")) {
      this.#endStretch();
      this.#isCut = true;
      return;
    }
    if (this.#from < 0) this.#from = keyStart;
    this.#to = end;
    if (this.#all && this.#all.length >= MAX_MEMBERS) this.#all = null;
    const text = this.#text;
    this.#all?.push({ key: text.slice(keyStart, keyEnd), text: text.slice(start, end), values });
  }

  takeText(start: number, end: number, values: number): JsonText {
    const members = this.#all;
    if (!this.#isCut) return new JsonText(this.#text.slice(start, end), values, members);
    this.#endStretch();
    return new JsonText(`{${this.#stretches.join(",")}}`, values, members);
  }

  #endStretch(): void {
    if (this.#from >= 0) this.#stretches.push(this.#text.slice(this.#from, this.#to));
    this.#from = -1;
  }

  #is(keyStart: number, keyEnd: number, name: string): boolean {
    const length = keyEnd - keyStart - 2;
    // Each character may be written with six.
    if (length < name.length || length > 6 * name.length) return false;
    return JSON.parse(this.#text.slice(keyStart, keyEnd)) === name;
  }
}
