/** Building blocks of both codec tables: a codec per payload, and the fields that payloads share. */
import { HoldfastError } from "@holdfast/core";
import type { CodecReader } from "./codec-reader.ts";
import type { CodecWriter } from "./codec-writer.ts";
import type { GatewayFrame, ReplyStatus, SdkResponse, WorkerFrame } from "./frames.ts";
import { type GatewayMessageType, readSDKResponse, SDKResponseStatus, writeSDKResponse } from "./generated/connect.ts";

export type FrameKind = keyof typeof GatewayMessageType;

/** How the payload of one kind of frame is written and read; the envelope around it is the codec's. */
export interface PayloadCodec<Frame> {
  write(writer: CodecWriter, frame: Frame): void;
  read(reader: CodecReader): Frame;
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
  return { write: () => {}, read: () => ({ kind }) };
}

/** The names of numbers on the wire. */
export function namesOf<Name extends string>(numbers: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  return new Map((Object.keys(numbers) as Name[]).map((name) => [numbers[name], name]));
}

const STATUS_NUMBERS: Readonly<Record<ReplyStatus, number>> = SDKResponseStatus;
const STATUS_NAMES = namesOf<ReplyStatus>(STATUS_NUMBERS);

export function writeResponse(writer: CodecWriter, response: SdkResponse): void {
  const { requestId, accountId, envId, appId, body, noRetry, retryAfter } = response;
  const { sdkVersion, requestVersion, systemTraceCtx, userTraceCtx, runId } = response;
  writeSDKResponse(writer, {
    requestId,
    accountId,
    envId,
    appId,
    status: STATUS_NUMBERS[response.status],
    body,
    noRetry,
    retryAfter,
    sdkVersion,
    requestVersion,
    systemTraceCtx,
    userTraceCtx,
    runId,
  });
}

// What is read is ours alone: it is completed in place, or taken field by field. Rest properties, and to spread what has
// many, take a microsecond each.

export function readResponse(reader: CodecReader): SdkResponse {
  const data = readSDKResponse(reader);
  const status = STATUS_NAMES.get(data.status);
  if (status === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown reply status ${data.status}.`);
  const { requestId, accountId, envId, appId, body, noRetry, retryAfter } = data;
  const { sdkVersion, requestVersion, systemTraceCtx, userTraceCtx, runId } = data;
  const response: SdkResponse = {
    requestId,
    accountId,
    envId,
    appId,
    status,
    body,
    noRetry,
    sdkVersion,
    requestVersion,
    systemTraceCtx,
    userTraceCtx,
    runId,
  };
  return retryAfter ? { ...response, retryAfter } : response;
}

/** The frame of what was read. */
export function withKind<Kind extends FrameKind, Data extends object>(
  kind: Kind,
  data: Data,
): Data & { readonly kind: Kind } {
  const read: { kind?: Kind } = data;
  read.kind = kind;
  return data as Data & { readonly kind: Kind };
}

/** What is read of a request; peers leave the step out when there is none. */
export function withStep<Data extends { stepId?: string | undefined }>(data: Data): Data & { readonly stepId: string } {
  const read: { stepId?: string | undefined } = data;
  read.stepId ||= "step";
  return data as Data & { readonly stepId: string };
}
