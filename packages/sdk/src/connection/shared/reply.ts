/** The protocol, as far as both threads need it for requests: reading a request's frame and writing its reply. */
import { HoldfastError, type PlainError } from "@holdfast/core";
import {
  allocateSharable,
  decodeGatewayFrame,
  type ExecutorRequest,
  encodeJsonBytes,
  encodeSdkResponse,
  type ReplyStatus,
  type RequestIdentity,
  WIRE_LIMITS,
} from "@holdfast/protocol";

export type { ExecutorRequest, RequestIdentity } from "@holdfast/protocol";

/** Reads the bytes of EXECUTION_REQUEST; undefined when they are no executor request. */
export function decodeExecutorRequest(bytes: Uint8Array): ExecutorRequest | undefined {
  const frame = decodeGatewayFrame(bytes, { lend: "all" });
  return frame.kind === "GATEWAY_EXECUTOR_REQUEST" ? frame : undefined;
}

/** The identity alone: what is kept of a request must not keep its payload, nor the frame that its fields are views on. */
export function identityOf(request: ExecutorRequest): RequestIdentity {
  const { requestId, accountId, envId, appId, functionSlug, stepId, runId } = request;
  const [systemTraceCtx, userTraceCtx] = [ownContext(request.systemTraceCtx), ownContext(request.userTraceCtx)];
  return { requestId, accountId, envId, appId, functionSlug, stepId, systemTraceCtx, userTraceCtx, runId };
}

const NO_CONTEXT = encodeJsonBytes({});

/** Our gateways have no trace context: all share one. */
function ownContext(bytes: Uint8Array): Uint8Array {
  const isEmpty = bytes.length === NO_CONTEXT.length && bytes.every((byte, index) => byte === NO_CONTEXT[index]);
  return isEmpty ? NO_CONTEXT : new Uint8Array(bytes);
}

export interface ReplyContent {
  readonly status: ReplyStatus;
  readonly body: Uint8Array;
  readonly noRetry: boolean;
  readonly retryAfter?: string;
  readonly requestVersion: number;
}

/** Room for the frame around a reply or a checkpoint. */
const ENVELOPE_BYTES = 4 * 1024;

/** Larger ones would make the gateway close the connection, again with every resend. */
export const MAX_REPLY_BYTES = WIRE_LIMITS.maxFrameBytes - ENVELOPE_BYTES;

/**
 * The SDKResponse of a request: what WORKER_REPLY and the HTTP flush carry.
 * @throws HoldfastError `FRAME_TOO_LARGE`
 */
export function encodeReply(identity: RequestIdentity, content: ReplyContent, sdkVersion: string): Uint8Array {
  const { requestId, accountId, envId, appId, systemTraceCtx, userTraceCtx, runId } = identity;
  const sdkResponse = {
    requestId,
    accountId,
    envId,
    appId,
    runId,
    // A gateway refuses a trace context that is not JSON.
    systemTraceCtx: systemTraceCtx.byteLength > 0 ? systemTraceCtx : NO_CONTEXT,
    userTraceCtx,
    sdkVersion,
    ...content,
  };
  const response = encodeSdkResponse(sdkResponse, allocateSharable);
  if (response.byteLength <= MAX_REPLY_BYTES) return response;
  throw new HoldfastError(
    "FRAME_TOO_LARGE",
    `What the run reports has ${response.byteLength} bytes; the limit for a reply is ${MAX_REPLY_BYTES}. Store large data elsewhere and return a reference.`,
  );
}

/** How much of an error's text is sent. */
const MAX_ERROR_CHARS = 64 * 1024;

/** A reply that says the request could not be run; the gateway tries it again. It fits into a frame, whatever was thrown. */
export function encodeErrorReply(identity: RequestIdentity, error: PlainError, sdkVersion: string): Uint8Array {
  const encode = (content: PlainError): Uint8Array =>
    encodeReply(
      identity,
      { status: "ERROR", body: encodeJsonBytes(content), noRetry: false, requestVersion: 2 },
      sdkVersion,
    );
  const { name, message, stack, code } = error;
  const cut = (text: string): string => text.slice(0, MAX_ERROR_CHARS);
  const short = { name: cut(name), message: cut(message), ...(stack === undefined ? {} : { stack: cut(stack) }) };
  try {
    return encode(error);
  } catch {
    return encode({ ...short, ...(code === undefined ? {} : { code: cut(code) }) });
  }
}
