/** What the proxy shows of a frame that crossed it, and how rules and waiters pick frames. */
import type { GatewayFrame, UnknownFrame, WorkerFrame } from "@holdfast/protocol";

/** Which way something goes: `to-gateway` is what the worker sent. */
export type Direction = "to-gateway" | "to-worker";

/** Anything that either peer can send, decoded; discriminated by `kind`. */
export type AnyFrame = GatewayFrame | WorkerFrame | UnknownFrame;

/** What became of a frame: on its way, thrown away or passed on twice by a rule, or kept back by a half-open connection. */
export type FrameFate = "forwarded" | "dropped" | "duplicated" | "held";

/** One WebSocket message that came to the proxy. */
export interface TappedFrame {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Number of the connection, counted from 1. */
  readonly connection: number;
  readonly direction: Direction;
  /** The decoded frame; absent when the bytes are none, then `undecodable` says why. */
  readonly frame?: AnyFrame;
  readonly undecodable?: string;
  /** Payload of the message, unmasked and put together. */
  readonly bytes: Uint8Array;
  readonly fate: FrameFate;
}

/** One HTTP request that went through the proxy. */
export interface TappedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly connection: number;
  readonly method: string;
  readonly path: string;
  /** Status of the response, once it has come. */
  status?: number;
}

/** The part of a tapped frame that rules and waiters look at. */
export type FramePredicate = (frame: TappedFrame) => boolean;
