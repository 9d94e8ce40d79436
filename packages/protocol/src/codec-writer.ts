/**
 * Writes protobuf messages: the primitives that the generated code calls. One pass, into one buffer that is used again and
 * again; what a message comes to is copied out once, in a buffer of exact size.
 */

import { type Allocate, ENVELOPE_BYTES, inRoom } from "./byte-memory.ts";

/** Room in front of a message for what surrounds it: a kind and a length, with their tags. */
const HEAD_BYTES = ENVELOPE_BYTES;
const START_BYTES = 4 * 1024;
/** From this size on bytes are not written to the buffer but put in their place when the message is copied out. */
const SPLICE_BYTES = 4 * 1024;
const MAX_VARINT_BYTES = 10;
/** Texts up to this length are tried as ASCII first; their size then is one byte. */
const SHORT_TEXT = 100;

const utf8 = new TextEncoder();

interface Splice {
  /** Where in the buffer it belongs. */
  at: number;
  readonly bytes: Uint8Array;
}

const allocateOwn: Allocate = (bytes) => new Uint8Array(bytes);

export class CodecWriter {
  #buffer = new Uint8Array(START_BYTES);
  #position = HEAD_BYTES;
  #splices: Splice[] = [];
  #splicedBytes = 0;

  string(tag: number, text: string): void {
    if (text.length > SHORT_TEXT || !this.#ascii(tag, text)) this.bytes(tag, utf8.encode(text));
  }

  bytes(tag: number, bytes: Uint8Array): void {
    this.#varint(tag);
    this.#varint(bytes.length);
    if (bytes.length >= SPLICE_BYTES) {
      this.#splices.push({ at: this.#position, bytes });
      this.#splicedBytes += bytes.length;
      return;
    }
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  bool(tag: number, value: boolean): void {
    this.#varint(tag);
    this.#varint(value ? 1 : 0);
  }

  uint32(tag: number, value: number): void {
    this.#varint(tag);
    this.#varint(value >>> 0);
  }

  int32(tag: number, value: number): void {
    this.#varint(tag);
    this.#integer(value | 0);
  }

  int64(tag: number, value: number): void {
    this.#varint(tag);
    this.#integer(Math.trunc(value));
  }

  message<Message>(tag: number, write: (writer: CodecWriter, message: Message) => void, message: Message): void {
    this.#varint(tag);
    this.#reserve(1);
    // Most messages inside others have fewer than 128 bytes.
    const start = this.#position + 1;
    const [splices, splicedBytes] = [this.#splices.length, this.#splicedBytes];
    this.#position = start;
    write(this, message);
    const length = this.#position - start + this.#splicedBytes - splicedBytes;
    const end = this.#position;
    const shift = varintBytes(length) - 1;
    if (shift > 0) {
      this.#reserve(shift);
      this.#buffer.copyWithin(start + shift, start, end);
      for (const splice of this.#splices.slice(splices)) splice.at += shift;
    }
    this.#position = start - 1;
    this.#varint(length);
    this.#position = end + shift;
  }

  /** What was written as a message of its own; the writer is empty again. */
  finish(allocate: Allocate = allocateOwn): Uint8Array {
    return this.#copyOut(HEAD_BYTES, allocate);
  }

  /** What was written as field 2 of a ConnectMessage of this kind, left out where there is none; the writer is empty again. */
  finishEnvelope(kind: number, allocate: Allocate = allocateOwn): Uint8Array {
    const end = this.#position;
    const length = end - HEAD_BYTES + this.#splicedBytes;
    const payloadHead = length === 0 ? 0 : 1 + varintBytes(length);
    const kindBytes = kind === 0 ? 0 : 1 + varintBytes(kind);
    const start = HEAD_BYTES - payloadHead - kindBytes;
    this.#position = start;
    if (kind !== 0) {
      this.#varint(0x08);
      this.#varint(kind);
    }
    if (length !== 0) {
      this.#varint(0x12);
      this.#varint(length);
    }
    this.#position = end;
    return this.#copyOut(start, allocate);
  }

  /**
   * As `finish`; where one large field has room around it (`allocateRoomy`) the message is there, and has the envelope of
   * this kind in front of it, which `envelopeInPlace` finds.
   */
  finishRoomy(kind: number, allocate: Allocate = allocateOwn): Uint8Array {
    const [first, ...others] = this.#splices;
    if (first === undefined || others.length > 0) return this.finish(allocate);
    const [before, after] = [
      this.#buffer.subarray(HEAD_BYTES, first.at),
      this.#buffer.subarray(first.at, this.#position),
    ];
    const message = inRoom(before, first.bytes, after);
    if (message === undefined) return this.finish(allocate);
    this.clear();
    const head = envelopeHead(kind, message.length);
    new Uint8Array(message.buffer, message.byteOffset - head.length).set(head);
    return message;
  }

  #copyOut(start: number, allocate: Allocate): Uint8Array {
    const end = this.#position;
    const out = allocate(end - start + this.#splicedBytes);
    let from = start;
    let to = 0;
    for (const { at, bytes } of this.#splices) {
      out.set(this.#buffer.subarray(from, at), to);
      to += at - from;
      out.set(bytes, to);
      to += bytes.length;
      from = at;
    }
    out.set(this.#buffer.subarray(from, end), to);
    this.clear();
    return out;
  }

  /** Forgets what was written, also when writing it failed. */
  clear(): void {
    this.#position = HEAD_BYTES;
    if (this.#splices.length > 0) this.#splices = [];
    this.#splicedBytes = 0;
    // Many small fields of one large message may have made it large.
    if (this.#buffer.length > 16 * START_BYTES) this.#buffer = new Uint8Array(START_BYTES);
  }

  /** False, with nothing written: it has other characters, too. */
  #ascii(tag: number, text: string): boolean {
    const before = this.#position;
    this.#varint(tag);
    this.#reserve(text.length + 1);
    const buffer = this.#buffer;
    let at = this.#position;
    buffer[at++] = text.length;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) {
        this.#position = before;
        return false;
      }
      buffer[at++] = code;
    }
    this.#position = at;
    return true;
  }

  /** A negative one takes ten bytes, as all of 64 bits. */
  #integer(value: number): void {
    if (value >= 0) return this.#varint(value);
    let rest = BigInt.asUintN(64, BigInt(value));
    this.#reserve(MAX_VARINT_BYTES);
    for (; rest >= 0x80n; rest >>= 7n) this.#buffer[this.#position++] = Number(rest & 0x7fn) | 0x80;
    this.#buffer[this.#position++] = Number(rest);
  }

  #varint(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    let rest = value;
    for (; rest > 0x7fffffff; rest = Math.floor(rest / 128)) this.#buffer[this.#position++] = (rest % 128) | 0x80;
    for (; rest >= 0x80; rest >>>= 7) this.#buffer[this.#position++] = (rest & 0x7f) | 0x80;
    this.#buffer[this.#position++] = rest;
  }

  #reserve(bytes: number): void {
    const needed = this.#position + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#buffer.length));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

/** Of field 2 of a ConnectMessage of this kind; neither is 0. */
function envelopeHead(kind: number, length: number): Uint8Array {
  const writer = new CodecWriter();
  writer.int32(0x08, kind);
  writer.uint32(0x12, length);
  return writer.finish();
}

/** The message with the envelope of this kind that stands in front of it; undefined where none does. */
export function envelopeInPlace(kind: number, message: Uint8Array): Uint8Array | undefined {
  const { buffer, byteOffset, length } = message;
  // Other memory may be used again while this view is there.
  if (!(buffer instanceof SharedArrayBuffer)) return undefined;
  const head = envelopeHead(kind, length);
  const start = byteOffset - head.length;
  if (start < 0) return undefined;
  const found = new Uint8Array(buffer, start, head.length);
  return head.every((byte, at) => byte === found[at]) ? new Uint8Array(buffer, start, head.length + length) : undefined;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}
