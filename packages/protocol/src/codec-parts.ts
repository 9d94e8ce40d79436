/** Building blocks of both codec tables: a codec per payload, and the fields that payloads share. */
import { HoldfastError } from "@holdfast/core";
import protobuf from "protobufjs/minimal.js";
import type { GatewayFrame, ReplyStatus, RequestIdentity, SdkResponse, WorkerFrame } from "./frames.ts";
import { connect } from "./generated/connect.js";

const { v1 } = connect;
export const NO_BYTES = new Uint8Array(0);

export type FrameKind = keyof typeof v1.GatewayMessageType;

/** How the payload of one kind of frame is written and read; the envelope around it is the codec's. */
export interface PayloadCodec<Frame> {
  /** Undefined: the frame is its kind and nothing else. */
  encode(frame: Frame): Uint8Array | undefined;
  decode(payload: Uint8Array): Frame;
}

/**
 * One row for each of `Kinds`. Given as all kinds of the wire but those of the other direction, it makes a kind in
 * `connect.proto` that neither table has fail to compile.
 */
export type PayloadCodecs<Frame extends GatewayFrame | WorkerFrame, Kinds extends FrameKind> = {
  readonly [Kind in Kinds]: PayloadCodec<Extract<Frame, { kind: Kind }>>;
};

/** A frame that is its kind and nothing else. */
export function bare<Kind extends string>(kind: Kind): PayloadCodec<{ readonly kind: Kind }> {
  return { encode: () => undefined, decode: () => ({ kind }) };
}

/** The names of numbers on the wire. */
export function namesOf<Name extends string>(numbers: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  return new Map((Object.keys(numbers) as Name[]).map((name) => [numbers[name], name]));
}

const STATUS_NUMBERS: Readonly<Record<ReplyStatus, number>> = v1.SDKResponseStatus;
const STATUS_NAMES = namesOf<ReplyStatus>({
  NOT_COMPLETED: v1.SDKResponseStatus.NOT_COMPLETED,
  DONE: v1.SDKResponseStatus.DONE,
  ERROR: v1.SDKResponseStatus.ERROR,
});

export function encodeSdkResponseBody(response: SdkResponse): protobuf.Writer {
  return v1.SDKResponse.encode({ ...response, status: STATUS_NUMBERS[response.status] });
}

export function decodeSdkResponseBody(payload: Uint8Array): SdkResponse {
  const data = v1.SDKResponse.decode(reader(payload));
  const status = STATUS_NAMES.get(data.status);
  if (status === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown reply status ${data.status}.`);
  return {
    requestId: data.requestId,
    accountId: data.accountId,
    envId: data.envId,
    appId: data.appId,
    status,
    body: own(data.body),
    noRetry: data.noRetry,
    ...(data.retryAfter ? { retryAfter: data.retryAfter } : {}),
    sdkVersion: data.sdkVersion,
    requestVersion: data.requestVersion,
    systemTraceCtx: own(data.systemTraceCtx),
    userTraceCtx: own(data.userTraceCtx),
    runId: data.runId,
  };
}

interface WireIdentity extends Omit<RequestIdentity, "stepId"> {
  stepId?: string | null;
}

export function identity(data: WireIdentity): RequestIdentity {
  return {
    requestId: data.requestId,
    accountId: data.accountId,
    envId: data.envId,
    appId: data.appId,
    functionSlug: data.functionSlug,
    stepId: data.stepId || "step",
    systemTraceCtx: own(data.systemTraceCtx),
    userTraceCtx: own(data.userTraceCtx),
    runId: data.runId,
  };
}

/** With the package `long` in reach, 64-bit integers decode to objects, else to numbers. */
export function toNumber(value: unknown): number {
  return Number(value ?? 0);
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/**
 * Messages between threads are made by Node, and where the app runs in a vm context (test runners do that) Node's
 * Uint8Array is another one: the reader would not know it.
 */
export function reader(bytes: Uint8Array): protobuf.Reader {
  const made = protobuf.Reader.create(bytes instanceof Uint8Array ? bytes : viewOf(bytes));
  (made as { discardUnknown?: boolean }).discardUnknown = true;
  return made;
}

/** A decoded bytes field is a view on the whole frame; a copy of exact size may cross threads and outlive it. */
export function own(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === 0 ? NO_BYTES : new Uint8Array(bytes);
}
