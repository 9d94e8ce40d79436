/** Reads protobuf messages: the primitives that the generated code calls. What makes no sense throws a RangeError. */

export const NO_BYTES = new Uint8Array(0);

/** How deep groups, which only others send, may nest. */
const MAX_GROUP_DEPTH = 100;
const MAX_VARINT_BYTES = 10;
/** From this size on large byte fields may be views; what is smaller would keep more than itself. */
const VIEW_BYTES = 4 * 1024;

/**
 * Which byte fields are views on the message and live as long as it: none, the large ones, or all. The others are copies
 * of exact size, which may cross threads.
 */
export type Lend = "none" | "large" | "all";

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Longer texts are not looked for among those that were read before. */
const MAX_KNOWN_BYTES = 64;
const KNOWN_TEXTS = 256;
/**
 * Texts that were read lately, each where its length and its outer bytes say. Names and ids of apps and environments come
 * with every frame: one string for all of them is compared in a third of the time that it takes to make another, and what
 * is kept of thousands of requests is less by half.
 */
const knownTexts: string[] = Array.from({ length: KNOWN_TEXTS }, () => "");

export class CodecReader {
  position = 0;
  /** Where reading ends: that of all bytes, or of the message that `enter` chose. */
  end: number;
  readonly #bytes: Uint8Array;
  /** The same bytes as Node has them, whose way to text is several times faster for short ones. */
  #buffer: Buffer | undefined;
  readonly #lend: Lend;

  constructor(bytes: Uint8Array, lend: Lend = "none") {
    // Messages between threads are made by Node, and where the app runs in a vm context (test runners do that) Node's
    // Uint8Array is another one.
    const own = bytes instanceof Uint8Array ? bytes : viewOf(bytes);
    this.#bytes = own;
    this.#lend = lend;
    this.end = own.length;
  }

  tag(): number {
    const tag = this.#varint();
    if (tag < 8 || tag > 0xffffffff) throw new RangeError(`There is no field with the tag ${tag}.`);
    return tag;
  }

  string(): string {
    const length = this.#length();
    if (length === 0) return "";
    this.position += length;
    return this.#text(this.position - length, this.position);
  }

  bytes(): Uint8Array {
    const length = this.#length();
    if (length === 0) return NO_BYTES;
    this.position += length;
    const view = this.#bytes.subarray(this.position - length, this.position);
    const isLent = this.#lend === "all" || (this.#lend === "large" && length >= VIEW_BYTES);
    return isLent ? view : new Uint8Array(view);
  }

  bool(): boolean {
    return this.#varint() !== 0;
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  /** The lowest 32 bits. */
  int32(): number {
    let value = 0;
    for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
      const byte = this.#byte();
      if (index < 5) value |= (byte & 0x7f) << (7 * index);
      if (byte < 0x80) return value;
    }
    throw new RangeError("A number does not end.");
  }

  /** Beyond 2^53 not exactly. */
  int64(): number {
    const from = this.position;
    const value = this.#varint();
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    this.position = from;
    return this.#largeInteger();
  }

  /** Reads the length of a message inside this one and gives its end. */
  endOfMessage(): number {
    const length = this.#length();
    return this.position + length;
  }

  /** Goes on with the message between these two. */
  enter(from: number, to: number): void {
    this.position = from;
    this.end = to;
  }

  /** A message ends exactly where it was said to. */
  finish<Message>(message: Message, end: number): Message {
    if (this.position !== end) throw new RangeError("A field goes beyond the end of its message.");
    return message;
  }

  /** Leaves out a field. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case VARINT:
        this.#varint();
        return;
      case FIXED64:
        return this.#advance(8);
      case LENGTH_DELIMITED:
        return this.#advance(this.#length());
      case START_GROUP:
        return this.#skipGroup(tag, depth);
      case FIXED32:
        return this.#advance(4);
      default:
        throw new RangeError(`A field has the unknown wire type ${tag & 7}.`);
    }
  }

  #skipGroup(start: number, depth: number): void {
    if (depth >= MAX_GROUP_DEPTH) throw new RangeError("Groups nest too deep.");
    const last = start - START_GROUP + END_GROUP;
    for (let tag = this.tag(); tag !== last; tag = this.tag()) this.skip(tag, depth + 1);
  }

  /** The length of what follows, all of which is there. */
  #length(): number {
    const length = this.#varint();
    if (length > this.end - this.position) throw new RangeError(`A field of ${length} bytes goes beyond the end.`);
    return length;
  }

  #advance(bytes: number): void {
    if (this.position + bytes > this.end) throw new RangeError("A field goes beyond the end.");
    this.position += bytes;
  }

  #byte(): number {
    if (this.position >= this.end) throw new RangeError("The message ends in the middle.");
    return this.#bytes[this.position++] as number;
  }

  #varint(): number {
    let byte = this.#byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let factor = 128, index = 1; index < MAX_VARINT_BYTES; index += 1, factor *= 128) {
      byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new RangeError("A number does not end.");
  }

  #text(from: number, to: number): string {
    const length = to - from;
    if (length > MAX_KNOWN_BYTES) return this.#newText(from, to);
    const place = placeOf(this.#bytes, from, to);
    const known = knownTexts[place] as string;
    if (known.length === length && isText(known, this.#bytes, from)) return known;
    const text = this.#newText(from, to);
    knownTexts[place] = text;
    return text;
  }

  #newText(from: number, to: number): string {
    this.#buffer ??= bufferOf(this.#bytes);
    return this.#buffer?.toString("utf8", from, to) ?? utf8.decode(this.#bytes.subarray(from, to));
  }

  #largeInteger(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
  }
}

function placeOf(bytes: Uint8Array, from: number, to: number): number {
  return ((to - from) * 37 + (bytes[from] as number) * 7 + (bytes[to - 1] as number)) % KNOWN_TEXTS;
}

/** Whether these bytes are that text of as many characters. Backwards: ids that were made together begin alike. */
function isText(text: string, bytes: Uint8Array, from: number): boolean {
  for (let index = text.length - 1; index >= 0; index -= 1) {
    const byte = bytes[from + index] as number;
    if (byte >= 0x80 || byte !== text.charCodeAt(index)) return false;
  }
  return true;
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

function bufferOf(bytes: Uint8Array): Buffer | undefined {
  const { Buffer: NodeBuffer } = globalThis as { readonly Buffer?: typeof Buffer };
  if (NodeBuffer === undefined) return undefined;
  if (bytes instanceof NodeBuffer) return bytes;
  return NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
