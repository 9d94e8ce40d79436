/**
 * Checks JSON text without building it, in pieces of any size, and says where its outer values are
 * (docs/decisions/0049).
 */
import { HoldfastError } from "@holdfast/core";

/** Called with the values that lie in at most `depth` containers. */
export interface JsonVisitor {
  readonly depth: number;
  /** A list or an object begins; its key as in `FoundValue`. */
  open(depth: number, isList: boolean, keyStart: number, keyEnd: number): void;
  /** A value is over; what it is in is still open. */
  value(found: FoundValue): void;
}

/** Where a value is. One object for all of them: to be read at once. */
export interface FoundValue {
  /** How many containers it is in. */
  depth: number;
  /** Of its key with the quotes; -1 when it has none. */
  keyStart: number;
  keyEnd: number;
  start: number;
  end: number;
  /** In it, with itself. */
  values: number;
}

export interface JsonScannerOptions {
  /** For messages. */
  readonly what: string;
  readonly maxDepth: number;
  readonly visitor?: JsonVisitor;
  /** No character below 0x20 is in the text: then the end of a string is found in a tenth of the time. */
  readonly isWithoutControls?: boolean;
}

const VALUE = 0;
const FIRST_VALUE = 1;
const KEY = 2;
const FIRST_KEY = 3;
const NEXT = 4;

/**
 * Checks JSON text as `JSON.parse` would, piece by piece, so that others have their turn between, and builds nothing:
 * what objects with hundreds of thousands of keys cost is building them.
 */
export class JsonScanner {
  readonly #text: string;
  readonly #options: JsonScannerOptions;
  readonly #watched: number;
  readonly #found: FoundValue = { depth: 0, keyStart: -1, keyEnd: -1, start: 0, end: 0, values: 0 };
  /** Of the containers that are open. */
  readonly #isList: boolean[] = [];
  readonly #starts: number[] = [];
  readonly #keyStarts: number[] = [];
  readonly #keyEnds: number[] = [];
  readonly #valuesBefore: number[] = [];
  #at = 0;
  #expects = VALUE;
  #depth = 0;
  #values = 0;
  #keyStart = -1;
  #keyEnd = -1;
  /** The next of each from where was last looked for it; the end of all when there is none. */
  #quoteAt = -1;
  #backslashAt = -1;

  constructor(text: string, options: JsonScannerOptions) {
    this.#text = text;
    this.#options = options;
    this.#watched = options.visitor?.depth ?? -1;
  }

  /** Of what was read so far. */
  get values(): number {
    return this.#values;
  }

  /**
   * Goes on for about so many characters; a text or a number is read as a whole. True when all is read.
   * @throws HoldfastError `FRAME_INVALID` when it is not JSON, or nests too deep
   */
  scan(chars: number): boolean {
    const text = this.#text;
    const stop = Math.min(text.length, this.#at + chars);
    for (;;) {
      this.#at = skipSpace(text, this.#at);
      if (this.#at >= text.length) break;
      if (this.#at >= stop) return false;
      this.#token(text.charCodeAt(this.#at));
    }
    if (this.#expects !== NEXT || this.#depth > 0) throw this.#invalid();
    return true;
  }

  #token(code: number): void {
    switch (this.#expects) {
      case FIRST_VALUE:
        if (code === 0x5d) return this.#close();
        return this.#value(code);
      case VALUE:
        return this.#value(code);
      case FIRST_KEY:
        if (code === 0x7d) return this.#close();
        return this.#key(code);
      case KEY:
        return this.#key(code);
      default:
        return this.#next(code);
    }
  }

  #next(code: number): void {
    if (this.#depth === 0) throw this.#invalid();
    const isList = this.#isList[this.#depth - 1];
    if (code === 0x2c) {
      this.#at += 1;
      this.#expects = isList ? VALUE : KEY;
    } else if (code === (isList ? 0x5d : 0x7d)) this.#close();
    else throw this.#invalid();
  }

  #key(code: number): void {
    if (code !== 0x22) throw this.#invalid();
    const text = this.#text;
    this.#keyStart = this.#at;
    this.#keyEnd = this.#stringEnd();
    this.#at = skipSpace(text, this.#keyEnd);
    if (text.charCodeAt(this.#at) !== 0x3a) throw this.#invalid();
    this.#at += 1;
    this.#expects = VALUE;
  }

  #value(code: number): void {
    if (code === 0x7b || code === 0x5b) return this.#open(code === 0x5b);
    const start = this.#at;
    this.#at = code === 0x22 ? this.#stringEnd() : this.#scalarEnd(code);
    this.#values += 1;
    this.#expects = NEXT;
    if (this.#depth <= this.#watched) this.#report(start, this.#keyStart, this.#keyEnd, 1);
  }

  #open(isList: boolean): void {
    const depth = this.#depth;
    const { maxDepth, what, visitor } = this.#options;
    if (depth >= maxDepth) {
      throw new HoldfastError("FRAME_INVALID", `${what} nests deeper than ${maxDepth} levels.`);
    }
    this.#isList[depth] = isList;
    this.#starts[depth] = this.#at;
    this.#keyStarts[depth] = this.#keyStart;
    this.#keyEnds[depth] = this.#keyEnd;
    this.#valuesBefore[depth] = this.#values;
    this.#values += 1;
    this.#depth = depth + 1;
    this.#at += 1;
    this.#expects = isList ? FIRST_VALUE : FIRST_KEY;
    if (depth <= this.#watched) visitor?.open(depth, isList, this.#keyStart, this.#keyEnd);
    this.#keyStart = -1;
    this.#keyEnd = -1;
  }

  #close(): void {
    const depth = this.#depth - 1;
    this.#depth = depth;
    this.#at += 1;
    this.#expects = NEXT;
    if (depth <= this.#watched) {
      const { [depth]: start = 0 } = this.#starts;
      const { [depth]: keyStart = -1 } = this.#keyStarts;
      const { [depth]: keyEnd = -1 } = this.#keyEnds;
      this.#report(start, keyStart, keyEnd, this.#values - (this.#valuesBefore[depth] ?? 0));
    }
    // In a list values have no key.
    this.#keyStart = -1;
    this.#keyEnd = -1;
  }

  #report(start: number, keyStart: number, keyEnd: number, values: number): void {
    const found = this.#found;
    found.depth = this.#depth;
    found.keyStart = keyStart;
    found.keyEnd = keyEnd;
    found.start = start;
    found.end = this.#at;
    found.values = values;
    this.#options.visitor?.value(found);
  }

  #stringEnd(): number {
    const text = this.#text;
    let at = this.#at + 1;
    let searchFrom = at + SEARCH_FROM;
    for (;;) {
      if (at >= searchFrom) {
        at = this.#options.isWithoutControls ? this.#signFrom(at) : specialFrom(text, at);
        searchFrom = at + SEARCH_FROM;
      }
      const code = text.charCodeAt(at);
      if (code === 0x22) return at + 1;
      if (code === 0x5c) at = this.#escapeEnd(at + 1);
      else if (code >= 0x20) at += 1;
      else throw this.#invalidAt(at);
    }
  }

  /** Where the next quote or backslash is. Each place is looked at once for each, however they follow each other. */
  #signFrom(at: number): number {
    if (this.#quoteAt < at) this.#quoteAt = indexFrom(this.#text, '"', at);
    if (this.#backslashAt < at) this.#backslashAt = indexFrom(this.#text, "\\", at);
    return Math.min(this.#quoteAt, this.#backslashAt);
  }

  #escapeEnd(at: number): number {
    const code = this.#text.charCodeAt(at);
    if (ESCAPED.has(code)) return at + 1;
    if (code !== 0x75) throw this.#invalidAt(at);
    for (let digit = 1; digit <= 4; digit += 1) {
      if (!isHex(this.#text.charCodeAt(at + digit))) throw this.#invalidAt(at + digit);
    }
    return at + 5;
  }

  #scalarEnd(code: number): number {
    const word = code === 0x74 ? "true" : code === 0x66 ? "false" : code === 0x6e ? "null" : null;
    if (word === null) return this.#numberEnd(code);
    if (!this.#text.startsWith(word, this.#at)) throw this.#invalid();
    return this.#at + word.length;
  }

  #numberEnd(first: number): number {
    const text = this.#text;
    let at = first === 0x2d ? this.#at + 1 : this.#at;
    at = text.charCodeAt(at) === 0x30 ? at + 1 : this.#digitsEnd(at);
    if (text.charCodeAt(at) === 0x2e) at = this.#digitsEnd(at + 1);
    const mark = text.charCodeAt(at);
    if (mark !== 0x65 && mark !== 0x45) return at;
    const sign = text.charCodeAt(at + 1);
    return this.#digitsEnd(sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
  }

  /** After at least one digit. */
  #digitsEnd(from: number): number {
    let at = from;
    while (isDigit(this.#text.charCodeAt(at))) at += 1;
    if (at === from) throw this.#invalidAt(at);
    return at;
  }

  #invalid(): HoldfastError {
    return this.#invalidAt(this.#at);
  }

  #invalidAt(at: number): HoldfastError {
    const where = at >= this.#text.length ? "it ends too early" : `see character ${at}`;
    return new HoldfastError("FRAME_INVALID", `${this.#options.what} is not JSON: ${where}.`);
  }
}

/** A search is ten times as fast as looking at each character, and costs as much as some of them. */
const SEARCH_FROM = 32;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they end a string that is none
const SPECIAL = /["\\\u0000-\u001f]/g;

/** Where the next character of a string is that may not stand for itself; the end of all when there is none. */
function specialFrom(text: string, from: number): number {
  SPECIAL.lastIndex = from;
  return SPECIAL.exec(text)?.index ?? text.length;
}

function indexFrom(text: string, sign: string, from: number): number {
  const at = text.indexOf(sign, from);
  return at < 0 ? text.length : at;
}

const ESCAPED: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)));

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

const isHex = (code: number): boolean =>
  isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}
