/**
 * The envelope around all frames, and the bodies of the HTTP calls. The only module besides its tables that sees the
 * generated protobuf code.
 */
import { HoldfastError } from "@holdfast/core";
import { gatewayPayloads } from "./codec-gateway.ts";
import {
  decodeSdkResponseBody,
  encodeSdkResponseBody,
  type FrameKind,
  type PayloadCodec,
  reader,
} from "./codec-parts.ts";
import { workerPayloads } from "./codec-worker.ts";
import type { GatewayFrame, SdkResponse, StartResponse, UnknownFrame, WorkerFrame } from "./frames.ts";
import { connect } from "./generated/connect.js";
import { WIRE_LIMITS } from "./limits.ts";

const { v1 } = connect;
const KIND = v1.GatewayMessageType;

/** An empty frame is a message of kind 0, which is GATEWAY_HELLO. */
const EMPTY = new Uint8Array(0);

/** A frame as it goes over the socket; the bytes are the caller's own, of exact size. */
export function encodeGatewayFrame(frame: GatewayFrame): Uint8Array {
  return encodeFrame(gatewayPayloads, frame);
}

export function encodeWorkerFrame(frame: WorkerFrame): Uint8Array {
  return encodeFrame(workerPayloads, frame);
}

/**
 * Reads a frame sent by a gateway. Byte fields are exact copies, so they may cross threads.
 * @throws HoldfastError `FRAME_INVALID`, `FRAME_TOO_LARGE`
 */
export function decodeGatewayFrame(bytes: Uint8Array): GatewayFrame | UnknownFrame {
  return decodeFrame(gatewayDecoders, bytes);
}

/**
 * Reads a frame sent by a worker.
 * @throws HoldfastError `FRAME_INVALID`, `FRAME_TOO_LARGE`
 */
export function decodeWorkerFrame(bytes: Uint8Array): WorkerFrame | UnknownFrame {
  return decodeFrame(workerDecoders, bytes);
}

type CodecsOf<Frame extends { readonly kind: FrameKind }> = {
  readonly [Kind in Frame["kind"]]: PayloadCodec<Extract<Frame, { kind: Kind }>>;
};

type Decoders<Frame> = ReadonlyMap<number, { readonly kind: string; decode(payload: Uint8Array): Frame }>;

const gatewayDecoders = decodersOf<GatewayFrame>(gatewayPayloads);
const workerDecoders = decodersOf<WorkerFrame>(workerPayloads);

function decodersOf<Frame extends { readonly kind: FrameKind }>(codecs: CodecsOf<Frame>): Decoders<Frame> {
  const kinds = Object.keys(codecs) as Frame["kind"][];
  return new Map(kinds.map((kind) => [KIND[kind], { kind, decode: codecs[kind].decode }]));
}

function encodeFrame<Frame extends { readonly kind: FrameKind }>(codecs: CodecsOf<Frame>, frame: Frame): Uint8Array {
  // The row of a frame's own kind takes it.
  const codec = codecs[frame.kind as Frame["kind"]] as PayloadCodec<Frame>;
  return encodeEnvelope(KIND[frame.kind], codec.encode(frame));
}

function decodeFrame<Frame>(decoders: Decoders<Frame>, bytes: Uint8Array): Frame | UnknownFrame {
  const { kind, payload } = decodeEnvelope(bytes);
  const decoder = decoders.get(kind);
  return decoder ? guarded(decoder.kind, () => decoder.decode(payload)) : { kind: "UNKNOWN", number: kind };
}

/** The number of a frame's kind, also when its payload is unreadable; undefined when the envelope itself is. */
export function frameKind(bytes: Uint8Array): number | undefined {
  try {
    return decodeEnvelope(bytes).kind;
  } catch {
    return undefined;
  }
}

/** The body of an HTTP flush, and what WORKER_REPLY carries. */
export function encodeSdkResponse(response: SdkResponse): Uint8Array {
  return exact(encodeSdkResponseBody(response).finish());
}

export function decodeSdkResponse(bytes: Uint8Array): SdkResponse {
  checkSize(bytes, WIRE_LIMITS.maxFlushBodyBytes);
  return guarded("SDKResponse", () => decodeSdkResponseBody(bytes));
}

/** WORKER_REPLY around bytes that are already an encoded SDKResponse. */
export function wrapReply(response: Uint8Array): Uint8Array {
  return encodeEnvelope(KIND.WORKER_REPLY, response);
}

export function encodeStartRequest(request: { readonly excludeGateways: readonly string[] }): Uint8Array {
  return exact(v1.StartRequest.encode({ excludeGateways: [...request.excludeGateways] }).finish());
}

export function decodeStartRequest(bytes: Uint8Array): { excludeGateways: string[] } {
  checkSize(bytes, WIRE_LIMITS.maxStartBodyBytes);
  return guarded("StartRequest", () => ({
    excludeGateways: v1.StartRequest.decode(reader(bytes)).excludeGateways ?? [],
  }));
}

export function encodeStartResponse(response: StartResponse): Uint8Array {
  return exact(v1.StartResponse.encode(response).finish());
}

export function decodeStartResponse(bytes: Uint8Array): StartResponse {
  return guarded("StartResponse", () => {
    const { connectionId, gatewayEndpoint, gatewayGroup, sessionToken, syncToken } = v1.StartResponse.decode(
      reader(bytes),
    );
    return { connectionId, gatewayEndpoint, gatewayGroup, sessionToken, syncToken };
  });
}

export function encodeFlushResponse(response: { readonly requestId: string }): Uint8Array {
  return exact(v1.FlushResponse.encode(response).finish());
}

export function decodeFlushResponse(bytes: Uint8Array): { requestId: string } {
  return guarded("FlushResponse", () => ({ requestId: v1.FlushResponse.decode(reader(bytes)).requestId }));
}

function encodeEnvelope(kind: number, payload: Uint8Array | undefined): Uint8Array {
  if (kind === 0 && payload === undefined) return EMPTY;
  return exact(v1.ConnectMessage.encode(payload ? { kind, payload } : { kind }).finish());
}

function decodeEnvelope(bytes: Uint8Array): { kind: number; payload: Uint8Array } {
  checkSize(bytes, WIRE_LIMITS.maxFrameBytes);
  return guarded("ConnectMessage", () => {
    const message = v1.ConnectMessage.decode(reader(bytes));
    return { kind: message.kind ?? 0, payload: message.payload ?? EMPTY };
  });
}

/** An encoder's bytes are a view on a pooled buffer; posting it would drag the pool and its neighbours' bytes along. */
function exact(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

function checkSize(bytes: Uint8Array, maxBytes: number): void {
  if (bytes.byteLength > maxBytes) {
    throw new HoldfastError(
      "FRAME_TOO_LARGE",
      `A message of ${bytes.byteLength} bytes is over the limit of ${maxBytes}.`,
    );
  }
}

function guarded<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (HoldfastError.is(cause)) throw cause;
    throw new HoldfastError("FRAME_INVALID", `${what} could not be decoded.`, { cause });
  }
}
