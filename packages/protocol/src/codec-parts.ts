/** Building blocks of both codec tables: a codec per payload, and the fields that payloads share. */
import { HoldfastError } from "@holdfast/core";
import type { CodecReader } from "./codec-reader.ts";
import type { CodecWriter } from "./codec-writer.ts";
import type { GatewayFrame, ReplyStatus, RequestIdentity, SdkResponse, WorkerFrame } from "./frames.ts";
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
  writeSDKResponse(writer, { ...response, status: STATUS_NUMBERS[response.status] });
}

export function readResponse(reader: CodecReader): SdkResponse {
  const { status: number, retryAfter, ...rest } = readSDKResponse(reader);
  const status = STATUS_NAMES.get(number);
  if (status === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown reply status ${number}.`);
  return { ...rest, status, ...(retryAfter ? { retryAfter } : {}) };
}

/** What is read of a request's identity; peers leave the step out when there is none. */
export function identity({
  stepId,
  ...rest
}: Omit<RequestIdentity, "stepId"> & { stepId?: string | undefined }): RequestIdentity {
  return { ...rest, stepId: stepId || "step" };
}
