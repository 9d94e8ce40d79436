/**
 * Byte fields of messages that are posted together. Each buffer of its own costs both threads a microsecond and their
 * collectors more; a view on memory that is shared with others would be posted with all of it. So the small ones of one
 * post go in buffers that hold nothing else.
 */
import { allocatePooled } from "@holdfast/protocol";
import type { AnyMessage } from "./messages.ts";

/** A message that is kept for long keeps at most this much of others. */
export const PACK_BYTES = 8 * 1024;

/**
 * From this size on such a buffer moves to the other thread: copied it would be three times in memory, and twice of them
 * for the collectors. To move a smaller one takes longer than to copy it.
 */
const MOVE_BYTES = PACK_BYTES / 2;

/** Copies bytes for a post that is to come. */
export function pooledCopy(bytes: Uint8Array): Uint8Array {
  const copy = allocatePooled(bytes.byteLength);
  copy.set(bytes);
  return copy;
}

/** Nothing else is posted with them: they have memory of their own, or memory that threads share, with some room in it. */
const isOwned = ({ byteLength, buffer }: Uint8Array): boolean =>
  byteLength === buffer.byteLength || buffer instanceof SharedArrayBuffer;

/** The same bytes with no memory of others behind them, for a post that is not packed. */
export function ownedBytes(bytes: Uint8Array): Uint8Array {
  return isOwned(bytes) ? bytes : bytes.slice();
}

export interface PackedMessages {
  /** No byte field of these has more memory behind it than what is posted with it. */
  readonly messages: readonly AnyMessage[];
  /** Buffers that were made for them, to be moved. */
  readonly packs: readonly ArrayBuffer[];
}

/** The messages as they are posted. */
export function packMessages(messages: readonly AnyMessage[]): PackedMessages {
  const out: AnyMessage[] = [];
  const packs: ArrayBuffer[] = [];
  let from = 0;
  let packed = 0;
  let index = 0;
  for (const message of messages) {
    const bytes = partOf(message);
    if (packed > 0 && packed + bytes > PACK_BYTES) {
      pack(messages.slice(from, index), packed, out, packs);
      from = index;
      packed = 0;
    }
    packed += bytes;
    index += 1;
  }
  pack(from === 0 ? messages : messages.slice(from), packed, out, packs);
  return { messages: out, packs };
}

function pack(messages: readonly AnyMessage[], bytes: number, out: AnyMessage[], packs: ArrayBuffer[]): void {
  const shared = new Uint8Array(bytes);
  if (bytes >= MOVE_BYTES) packs.push(shared.buffer);
  let at = 0;
  for (const message of messages) {
    const part = partOf(message);
    out.push(part === 0 ? message : withBytes(message, shared.subarray(at, at + part)));
    at += part;
  }
}

/** How many bytes of a message are to be packed: none where they have memory of their own. */
function partOf(message: AnyMessage): number {
  const bytes = bytesOf(message);
  return bytes === undefined || isOwned(bytes) ? 0 : bytes.byteLength;
}

/** The same message with its bytes elsewhere. */
function withBytes(message: AnyMessage, to: Uint8Array): AnyMessage {
  to.set(bytesOf(message) ?? []);
  switch (message.type) {
    case "EXECUTION_REQUEST": {
      const { type, requestId, extensions, doubtNumber, asOf } = message;
      return { type, requestId, request: to, extensions, doubtNumber, asOf };
    }
    case "EXECUTION_RESPONSE":
      return { type: message.type, requestId: message.requestId, response: to };
    case "CHECKPOINT":
      return { type: message.type, requestId: message.requestId, sequence: message.sequence, ops: to };
    default:
      return message;
  }
}

function bytesOf(message: AnyMessage): Uint8Array | undefined {
  switch (message.type) {
    case "EXECUTION_REQUEST":
      return message.request;
    case "EXECUTION_RESPONSE":
      return message.response;
    case "CHECKPOINT":
      return message.ops;
    default:
      return undefined;
  }
}
