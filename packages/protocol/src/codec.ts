import { HoldfastError, unreachable } from "@holdfast/core";
import {
  decodeSdkResponseBody,
  encodeSdkResponseBody,
  gatewayPayload,
  reader,
  workerPayload,
} from "./codec-payloads.ts";
import type { GatewayFrame, SdkResponse, StartResponse, UnknownFrame, WorkerFrame } from "./frames.ts";
import { connect } from "./generated/connect.js";
import { WIRE_LIMITS } from "./limits.ts";

const { v1 } = connect;
const KIND = v1.GatewayMessageType;

/** An empty frame is a message of kind 0, which is GATEWAY_HELLO. */
const EMPTY = new Uint8Array(0);

/** A frame as it goes over the socket; the bytes are the caller's own, of exact size. */
export function encodeGatewayFrame(frame: GatewayFrame): Uint8Array {
  return encodeEnvelope(KIND[frame.kind], gatewayPayload.encode(frame));
}

export function encodeWorkerFrame(frame: WorkerFrame): Uint8Array {
  return encodeEnvelope(KIND[frame.kind], workerPayload.encode(frame));
}

/**
 * Reads a frame sent by a gateway. Byte fields are exact copies, so they may cross threads.
 * @throws HoldfastError `FRAME_INVALID`, `FRAME_TOO_LARGE`
 */
export function decodeGatewayFrame(bytes: Uint8Array): GatewayFrame | UnknownFrame {
  const { kind, payload } = decodeEnvelope(bytes);
  const decode = gatewayPayload.decoders[kind];
  return decode ? guarded(KIND[kind] ?? String(kind), () => decode(payload)) : { kind: "UNKNOWN", number: kind };
}

/**
 * Reads a frame sent by a worker.
 * @throws HoldfastError `FRAME_INVALID`, `FRAME_TOO_LARGE`
 */
export function decodeWorkerFrame(bytes: Uint8Array): WorkerFrame | UnknownFrame {
  const { kind, payload } = decodeEnvelope(bytes);
  const decode = workerPayload.decoders[kind];
  return decode ? guarded(KIND[kind] ?? String(kind), () => decode(payload)) : { kind: "UNKNOWN", number: kind };
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

/** Keeps the two tables below honest: a new kind without a row fails to compile here. */
export function directionOf(kind: (GatewayFrame | WorkerFrame)["kind"]): "gateway" | "worker" {
  switch (kind) {
    case "GATEWAY_HELLO":
    case "GATEWAY_CONNECTION_READY":
    case "GATEWAY_EXECUTOR_REQUEST":
    case "WORKER_REPLY_ACK":
    case "GATEWAY_HEARTBEAT":
    case "GATEWAY_CLOSING":
    case "WORKER_REQUEST_EXTEND_LEASE_ACK":
    case "SYNC_FAILED":
    case "GATEWAY_CHECKPOINT_ACK":
    case "GATEWAY_CANCEL":
      return "gateway";
    case "WORKER_CONNECT":
    case "WORKER_READY":
    case "WORKER_REQUEST_ACK":
    case "WORKER_REPLY":
    case "WORKER_PAUSE":
    case "WORKER_HEARTBEAT":
    case "WORKER_REQUEST_EXTEND_LEASE":
    case "WORKER_STATUS":
    case "WORKER_CHECKPOINT":
    case "WORKER_REQUEST_NACK":
    case "WORKER_STALL":
      return "worker";
    default:
      return unreachable(kind);
  }
}
