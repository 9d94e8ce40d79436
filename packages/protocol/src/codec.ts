/**
 * The envelope around all frames, and the bodies of the HTTP calls. The only module besides its tables that sees the
 * generated protobuf code.
 */
import { HoldfastError } from "@holdfast/core";
import type { Allocate } from "./byte-memory.ts";
import { gatewayPayloads } from "./codec-gateway.ts";
import { type FrameKind, type PayloadCodec, readResponse, writeResponse } from "./codec-parts.ts";
import { CodecReader, type Lend } from "./codec-reader.ts";
import { workerPayloads } from "./codec-worker.ts";
import { CodecWriter, envelopeInPlace } from "./codec-writer.ts";
import type { GatewayFrame, SdkResponse, StartResponse, UnknownFrame, WorkerFrame } from "./frames.ts";
import {
  GatewayMessageType as KIND,
  readFlushResponse,
  readStartRequest,
  readStartResponse,
  writeConnectMessage,
  writeFlushResponse,
  writeStartRequest,
  writeStartResponse,
} from "./generated/connect.ts";
import { WIRE_LIMITS } from "./limits.ts";

/** Nothing is written while something is being written, so one does for all. */
const writer = new CodecWriter();

/** A frame as it goes over the socket; the bytes are the caller's own, of exact size, unless `allocate` says otherwise. */
export function encodeGatewayFrame(frame: GatewayFrame, allocate?: Allocate): Uint8Array {
  return encodeFrame(gatewayPayloads, frame, allocate);
}

export function encodeWorkerFrame(frame: WorkerFrame, allocate?: Allocate): Uint8Array {
  return encodeFrame(workerPayloads, frame, allocate);
}

export interface DecodeOptions {
  /**
   * "large": large byte fields are views on the frame instead of copies, for who is done with them while the frame is
   * there, or keeps it anyway; "all": so are the small ones, which keep all of it.
   */
  readonly lend?: Lend;
}

/**
 * Reads a frame sent by a gateway. Byte fields are exact copies, so they may cross threads, unless they are lent.
 * @throws HoldfastError `FRAME_INVALID`, `FRAME_TOO_LARGE`
 */
export function decodeGatewayFrame(bytes: Uint8Array, { lend }: DecodeOptions = {}): GatewayFrame | UnknownFrame {
  return decodeFrame(gatewayDecoders, bytes, lend);
}

/**
 * Reads a frame sent by a worker.
 * @throws HoldfastError `FRAME_INVALID`, `FRAME_TOO_LARGE`
 */
export function decodeWorkerFrame(bytes: Uint8Array, { lend }: DecodeOptions = {}): WorkerFrame | UnknownFrame {
  return decodeFrame(workerDecoders, bytes, lend);
}

type CodecsOf<Frame extends { readonly kind: FrameKind }> = {
  readonly [Kind in Frame["kind"]]: PayloadCodec<Extract<Frame, { kind: Kind }>>;
};

type Decoders<Frame> = ReadonlyMap<number, { readonly kind: string; read(reader: CodecReader): Frame }>;

const gatewayDecoders = decodersOf<GatewayFrame>(gatewayPayloads);
const workerDecoders = decodersOf<WorkerFrame>(workerPayloads);

function decodersOf<Frame extends { readonly kind: FrameKind }>(codecs: CodecsOf<Frame>): Decoders<Frame> {
  const kinds = Object.keys(codecs) as Frame["kind"][];
  return new Map(kinds.map((kind) => [KIND[kind], { kind, read: codecs[kind].read }]));
}

function encodeFrame<Frame extends { readonly kind: FrameKind }>(
  codecs: CodecsOf<Frame>,
  frame: Frame,
  allocate?: Allocate,
): Uint8Array {
  // The row of a frame's own kind takes it.
  const codec = codecs[frame.kind as Frame["kind"]] as PayloadCodec<Frame>;
  writer.clear();
  codec.write(writer, frame);
  return writer.finishEnvelope(KIND[frame.kind], allocate);
}

function decodeFrame<Frame>(decoders: Decoders<Frame>, bytes: Uint8Array, lend?: Lend): Frame | UnknownFrame {
  const reader = new CodecReader(bytes, lend);
  const kind = openEnvelope(bytes, reader);
  const decoder = decoders.get(kind);
  if (decoder === undefined) return { kind: "UNKNOWN", number: kind };
  try {
    return decoder.read(reader);
  } catch (cause) {
    throw unreadable(decoder.kind, cause);
  }
}

/** The number of a frame's kind, also when its payload is unreadable; undefined when the envelope itself is. */
export function frameKind(bytes: Uint8Array): number | undefined {
  try {
    return openEnvelope(bytes, new CodecReader(bytes));
  } catch {
    return undefined;
  }
}

/**
 * The body of an HTTP flush, and what WORKER_REPLY carries; `allocate` gives the buffer, of exact size. A large `body` that
 * has room around it stays where it is, and is a part of what is returned.
 */
export function encodeSdkResponse(response: SdkResponse, allocate?: Allocate): Uint8Array {
  writer.clear();
  writeResponse(writer, response);
  return writer.finishRoomy(KIND.WORKER_REPLY, allocate);
}

export function decodeSdkResponse(bytes: Uint8Array, { lend }: DecodeOptions = {}): SdkResponse {
  checkSize(bytes, WIRE_LIMITS.maxReadBytes);
  return guarded("SDKResponse", () => readResponse(new CodecReader(bytes, lend)));
}

/** WORKER_REPLY around bytes that are already an encoded SDKResponse: in new memory, or where they are. */
export function wrapReply(response: Uint8Array, allocate?: Allocate): Uint8Array {
  const inPlace = envelopeInPlace(KIND.WORKER_REPLY, response);
  if (inPlace) return inPlace;
  return encodeBody(writeConnectMessage, { kind: KIND.WORKER_REPLY, payload: response }, allocate);
}

export function encodeStartRequest(request: { readonly excludeGateways: readonly string[] }): Uint8Array {
  return encodeBody(writeStartRequest, request);
}

export function decodeStartRequest(bytes: Uint8Array): { readonly excludeGateways: readonly string[] } {
  checkSize(bytes, WIRE_LIMITS.maxStartBodyBytes);
  return guarded("StartRequest", () => readStartRequest(new CodecReader(bytes)));
}

export function encodeStartResponse(response: StartResponse): Uint8Array {
  return encodeBody(writeStartResponse, response);
}

export function decodeStartResponse(bytes: Uint8Array): StartResponse {
  return guarded("StartResponse", () => readStartResponse(new CodecReader(bytes)));
}

export function encodeFlushResponse(response: { readonly requestId: string }): Uint8Array {
  return encodeBody(writeFlushResponse, response);
}

export function decodeFlushResponse(bytes: Uint8Array): { readonly requestId: string } {
  return guarded("FlushResponse", () => readFlushResponse(new CodecReader(bytes)));
}

function encodeBody<Body>(write: (to: CodecWriter, body: Body) => void, body: Body, allocate?: Allocate): Uint8Array {
  writer.clear();
  write(writer, body);
  return writer.finish(allocate);
}

const KIND_TAG = 8;
const PAYLOAD_TAG = 18;

/** A ConnectMessage's kind; the reader is at its payload then, which is read where it is. */
function openEnvelope(bytes: Uint8Array, reader: CodecReader): number {
  checkSize(bytes, WIRE_LIMITS.maxReadBytes);
  let kind = 0;
  let from = reader.end;
  let to = from;
  try {
    while (reader.position < reader.end) {
      const tag = reader.tag();
      if (tag === KIND_TAG) kind = reader.int32();
      else if (tag === PAYLOAD_TAG) {
        to = reader.endOfMessage();
        from = reader.position;
        reader.position = to;
      } else reader.skip(tag);
    }
  } catch (cause) {
    throw unreadable("ConnectMessage", cause);
  }
  reader.enter(from, to);
  return kind;
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
    throw unreadable(what, cause);
  }
}

function unreadable(what: string, cause: unknown): HoldfastError {
  if (HoldfastError.is(cause)) return cause;
  return new HoldfastError("FRAME_INVALID", `${what} could not be decoded.`, { cause });
}
