/**
 * Finds whole protocol messages in one direction of a WebSocket, so that the proxy can show, drop or repeat them.
 */
import { messageOf } from "@holdfast/core";
import { decodeGatewayFrame, decodeWorkerFrame } from "@holdfast/protocol";
import type { AnyFrame, Direction } from "./frames.ts";
import { createWebSocketParser, OPCODE, type RawFrame } from "./websocket-parser.ts";

/** A whole message, or bytes that are passed on without being understood. */
export interface SeenMessage {
  readonly frame?: AnyFrame;
  readonly undecodable?: string;
  readonly bytes: Uint8Array;
}

export interface MessageTapOptions {
  readonly direction: Direction;
  /** Called once for every message; says how often it is passed on. */
  readonly onMessage: (message: SeenMessage) => number;
  /** Bytes to be passed on, exactly as they came. */
  readonly forward: (raw: Uint8Array) => void;
}

/** Larger messages make the rest of the connection unreadable; they are passed on all the same. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/**
 * Puts the fragments of messages together and decodes them. Control frames pass at once; the frames of a message pass
 * when it is complete, so that a message is dropped whole or not at all.
 */
export function createMessageTap(options: MessageTapOptions): { push(bytes: Uint8Array): void } {
  const { direction, onMessage, forward } = options;
  const parser = createWebSocketParser(MAX_MESSAGE_BYTES);
  let fragments: RawFrame[] = [];
  const decode = direction === "to-gateway" ? decodeWorkerFrame : decodeGatewayFrame;

  const take = (frame: RawFrame): void => {
    if (frame.opcode >= OPCODE.close) {
      forward(frame.raw);
      return;
    }
    fragments.push(frame);
    if (!frame.fin && size(fragments) <= MAX_MESSAGE_BYTES) return;
    const frames = fragments;
    fragments = [];
    const times = onMessage(readMessage(frames, decode));
    for (let time = 0; time < times; time++) for (const { raw } of frames) forward(raw);
  };
  return {
    push(bytes) {
      for (const result of parser.push(bytes)) {
        if (result.kind === "frame") {
          take(result.frame);
          continue;
        }
        for (const { raw } of fragments) forward(raw);
        fragments = [];
        if (result.why !== "") onMessage({ undecodable: result.why, bytes: result.raw });
        forward(result.raw);
      }
    },
  };
}

const size = (frames: readonly RawFrame[]): number => frames.reduce((sum, { raw }) => sum + raw.length, 0);

function readMessage(frames: readonly RawFrame[], decode: (bytes: Uint8Array) => AnyFrame): SeenMessage {
  const [first] = frames;
  const bytes = frames.length === 1 && first ? first.payload : Buffer.concat(frames.map(({ payload }) => payload));
  if (first?.reserved) return { undecodable: "compressed", bytes };
  if (first?.opcode !== OPCODE.binary) return { undecodable: "not a binary message", bytes };
  try {
    return { frame: decode(bytes), bytes };
  } catch (error) {
    return { undecodable: messageOf(error), bytes };
  }
}
