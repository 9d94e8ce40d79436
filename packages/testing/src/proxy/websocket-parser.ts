/** One WebSocket frame as it crossed the wire. */
export interface RawFrame {
  readonly fin: boolean;
  readonly opcode: number;
  /** Set when an extension such as permessage-deflate changed the payload. */
  readonly reserved: boolean;
  readonly payload: Uint8Array;
  /** All bytes of the frame, untouched. */
  readonly raw: Uint8Array;
}

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export type ParseResult =
  | { readonly kind: "frame"; readonly frame: RawFrame }
  /** These bytes are no frames, or too large: the rest of the stream cannot be read. */
  | { readonly kind: "broken"; readonly why: string; readonly raw: Uint8Array };

export interface WebSocketParser {
  push(bytes: Uint8Array): ParseResult[];
}

/** Cuts one direction of a WebSocket connection into frames (RFC 6455, section 5.2), whatever pieces it comes in. */
export function createWebSocketParser(maxFrameBytes: number): WebSocketParser {
  let held: Uint8Array = new Uint8Array(0);
  let broken = false;
  return {
    push(bytes) {
      if (broken) return [{ kind: "broken", why: "", raw: bytes }];
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      const results: ParseResult[] = [];
      for (;;) {
        const head = readHead(held);
        if (head === "incomplete") break;
        const why = typeof head === "string" ? head : tooLarge(head, maxFrameBytes);
        if (typeof head === "string" || why !== undefined) {
          broken = true;
          results.push({ kind: "broken", why: why ?? "", raw: held });
          held = new Uint8Array(0);
          break;
        }
        const end = head.headBytes + head.payloadBytes;
        if (held.length < end) break;
        results.push({ kind: "frame", frame: cutFrame(held.subarray(0, end), head) });
        held = held.subarray(end);
      }
      return results;
    },
  };
}

interface Head {
  readonly fin: boolean;
  readonly reserved: boolean;
  readonly opcode: number;
  readonly maskOffset: number | undefined;
  readonly headBytes: number;
  readonly payloadBytes: number;
}

const KNOWN_OPCODES: ReadonlySet<number> = new Set(Object.values(OPCODE));

function readHead(bytes: Uint8Array): Head | "incomplete" | `bad ${string}` {
  if (bytes.length < 2) return "incomplete";
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [first, second] = [view.getUint8(0), view.getUint8(1)];
  const opcode = first & 0x0f;
  if (!KNOWN_OPCODES.has(opcode)) return `bad opcode ${opcode}`;
  const shortLength = second & 0x7f;
  const lengthBytes = shortLength === 127 ? 8 : shortLength === 126 ? 2 : 0;
  const masked = (second & 0x80) !== 0;
  const headBytes = 2 + lengthBytes + (masked ? 4 : 0);
  if (bytes.length < headBytes) return "incomplete";
  const longLength = lengthBytes === 8 ? Number(view.getBigUint64(2)) : lengthBytes === 2 ? view.getUint16(2) : 0;
  return {
    fin: (first & 0x80) !== 0,
    reserved: (first & 0x70) !== 0,
    opcode,
    maskOffset: masked ? 2 + lengthBytes : undefined,
    headBytes,
    payloadBytes: lengthBytes === 0 ? shortLength : longLength,
  };
}

function tooLarge({ payloadBytes }: Head, maxFrameBytes: number): string | undefined {
  return payloadBytes > maxFrameBytes ? `a frame of ${payloadBytes} bytes is over the limit` : undefined;
}

function cutFrame(raw: Uint8Array, head: Head): RawFrame {
  const { fin, opcode, reserved } = head;
  const payload = Uint8Array.from(raw.subarray(head.headBytes));
  if (head.maskOffset !== undefined) {
    const mask = raw.subarray(head.maskOffset, head.maskOffset + 4);
    for (let i = 0; i < payload.length; i += 1) payload[i] = (payload[i] ?? 0) ^ (mask[i & 3] ?? 0);
  }
  return { fin, opcode, reserved, payload, raw };
}
