import { HoldfastError, unreachable } from "@holdfast/core";
import protobuf from "protobufjs/minimal.js";
import {
  type CheckpointOutcome,
  EXTENSIONS,
  type Extension,
  type GatewayFrame,
  type NackReason,
  type ReplyStatus,
  type RequestIdentity,
  type SdkResponse,
  type WorkerConnect,
  type WorkerFrame,
} from "./frames.ts";
import { connect } from "./generated/connect.js";

/** One encoder and one decoder per kind of frame; the envelope around them is the codec's. */

const { v1 } = connect;
const KIND = v1.GatewayMessageType;
const NO_BYTES = new Uint8Array(0);

type Decoder<Frame> = (payload: Uint8Array) => Frame;

export const gatewayPayload = {
  encode(frame: GatewayFrame): Uint8Array | undefined {
    switch (frame.kind) {
      case "GATEWAY_HELLO":
      case "GATEWAY_HEARTBEAT":
      case "GATEWAY_CLOSING":
        return undefined;
      case "GATEWAY_CONNECTION_READY":
        return v1.GatewayConnectionReadyData.encode({ ...frame, extensions: [...frame.extensions] }).finish();
      case "GATEWAY_EXECUTOR_REQUEST":
        return v1.GatewayExecutorRequestData.encode(frame).finish();
      case "WORKER_REPLY_ACK":
        return v1.WorkerReplyAckData.encode(frame).finish();
      case "WORKER_REQUEST_EXTEND_LEASE_ACK":
        return v1.WorkerRequestExtendLeaseAckData.encode(frame).finish();
      case "SYNC_FAILED":
        return v1.SystemError.encode({ code: frame.code, message: frame.message }).finish();
      case "GATEWAY_CHECKPOINT_ACK":
        return v1.GatewayCheckpointAckData.encode({ ...frame, outcome: OUTCOME_NUMBERS[frame.outcome] }).finish();
      case "GATEWAY_CANCEL":
        return v1.GatewayCancelData.encode(frame).finish();
      default:
        return unreachable(frame);
    }
  },
  decoders: {
    [KIND.GATEWAY_HELLO]: () => ({ kind: "GATEWAY_HELLO" }),
    [KIND.GATEWAY_HEARTBEAT]: () => ({ kind: "GATEWAY_HEARTBEAT" }),
    [KIND.GATEWAY_CLOSING]: () => ({ kind: "GATEWAY_CLOSING" }),
    [KIND.GATEWAY_CONNECTION_READY]: (payload) => {
      const data = v1.GatewayConnectionReadyData.decode(reader(payload));
      return {
        kind: "GATEWAY_CONNECTION_READY",
        heartbeatInterval: data.heartbeatInterval,
        extendLeaseInterval: data.extendLeaseInterval,
        statusInterval: data.statusInterval,
        extensions: (data.extensions ?? []).filter(isExtension),
      };
    },
    [KIND.GATEWAY_EXECUTOR_REQUEST]: (payload) => {
      const data = v1.GatewayExecutorRequestData.decode(reader(payload));
      return {
        kind: "GATEWAY_EXECUTOR_REQUEST",
        ...identity(data),
        appName: data.appName,
        functionId: data.functionId,
        requestPayload: own(data.requestPayload),
        leaseId: data.leaseId,
        jobId: data.jobId,
      };
    },
    [KIND.WORKER_REPLY_ACK]: (payload) => ({
      kind: "WORKER_REPLY_ACK",
      requestId: v1.WorkerReplyAckData.decode(reader(payload)).requestId,
    }),
    [KIND.WORKER_REQUEST_EXTEND_LEASE_ACK]: (payload) => {
      const data = v1.WorkerRequestExtendLeaseAckData.decode(reader(payload));
      return {
        kind: "WORKER_REQUEST_EXTEND_LEASE_ACK",
        requestId: data.requestId,
        accountId: data.accountId,
        envId: data.envId,
        appId: data.appId,
        functionSlug: data.functionSlug,
        ...(data.newLeaseId ? { newLeaseId: data.newLeaseId } : {}),
      };
    },
    [KIND.SYNC_FAILED]: (payload) => {
      const data = v1.SystemError.decode(reader(payload));
      return { kind: "SYNC_FAILED", code: data.code, message: data.message };
    },
    [KIND.GATEWAY_CHECKPOINT_ACK]: (payload) => {
      const data = v1.GatewayCheckpointAckData.decode(reader(payload));
      const outcome = OUTCOMES[data.outcome];
      if (outcome === undefined)
        throw new HoldfastError("FRAME_INVALID", `Unknown checkpoint outcome ${data.outcome}.`);
      return {
        kind: "GATEWAY_CHECKPOINT_ACK",
        requestId: data.requestId,
        sequence: data.sequence,
        outcome,
        message: data.message,
      };
    },
    [KIND.GATEWAY_CANCEL]: (payload) => {
      const data = v1.GatewayCancelData.decode(reader(payload));
      return { kind: "GATEWAY_CANCEL", requestId: data.requestId, reason: data.reason };
    },
  } satisfies Record<number, Decoder<GatewayFrame>> as Readonly<Record<number, Decoder<GatewayFrame> | undefined>>,
};

export const workerPayload = {
  encode(frame: WorkerFrame): Uint8Array | undefined {
    switch (frame.kind) {
      case "WORKER_READY":
      case "WORKER_PAUSE":
      case "WORKER_HEARTBEAT":
        return undefined;
      case "WORKER_CONNECT":
        return encodeConnect(frame);
      case "WORKER_REQUEST_ACK":
        return v1.WorkerRequestAckData.encode(frame).finish();
      case "WORKER_REPLY":
        return encodeSdkResponseBody(frame).finish();
      case "WORKER_REQUEST_EXTEND_LEASE":
        return v1.WorkerRequestExtendLeaseData.encode(frame).finish();
      case "WORKER_STATUS":
        return v1.WorkerStatusData.encode({
          inFlightRequestIds: [...frame.inFlightRequestIds],
          shutdownRequested: frame.shutdownRequested,
        }).finish();
      case "WORKER_CHECKPOINT":
        return v1.WorkerCheckpointData.encode(frame).finish();
      case "WORKER_REQUEST_NACK":
        return v1.WorkerRequestNackData.encode({ ...frame, reason: NACK_NUMBERS[frame.reason] }).finish();
      case "WORKER_STALL":
        return v1.WorkerStallData.encode(frame).finish();
      default:
        return unreachable(frame);
    }
  },
  decoders: {
    [KIND.WORKER_READY]: () => ({ kind: "WORKER_READY" }),
    [KIND.WORKER_PAUSE]: () => ({ kind: "WORKER_PAUSE" }),
    [KIND.WORKER_HEARTBEAT]: () => ({ kind: "WORKER_HEARTBEAT" }),
    [KIND.WORKER_CONNECT]: decodeConnect,
    [KIND.WORKER_REQUEST_ACK]: (payload) => ({
      kind: "WORKER_REQUEST_ACK",
      ...identity(v1.WorkerRequestAckData.decode(reader(payload))),
    }),
    [KIND.WORKER_REPLY]: (payload) => ({ kind: "WORKER_REPLY", ...decodeSdkResponseBody(payload) }),
    [KIND.WORKER_REQUEST_EXTEND_LEASE]: (payload) => {
      const data = v1.WorkerRequestExtendLeaseData.decode(reader(payload));
      return { kind: "WORKER_REQUEST_EXTEND_LEASE", ...identity(data), leaseId: data.leaseId };
    },
    [KIND.WORKER_STATUS]: (payload) => {
      const data = v1.WorkerStatusData.decode(reader(payload));
      return {
        kind: "WORKER_STATUS",
        inFlightRequestIds: data.inFlightRequestIds ?? [],
        shutdownRequested: data.shutdownRequested,
      };
    },
    [KIND.WORKER_CHECKPOINT]: (payload) => {
      const data = v1.WorkerCheckpointData.decode(reader(payload));
      return {
        kind: "WORKER_CHECKPOINT",
        requestId: data.requestId,
        runId: data.runId,
        leaseId: data.leaseId,
        sequence: data.sequence,
        ops: own(data.ops),
      };
    },
    [KIND.WORKER_REQUEST_NACK]: (payload) => {
      const data = v1.WorkerRequestNackData.decode(reader(payload));
      const reason = NACK_REASONS[data.reason];
      if (reason === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown nack reason ${data.reason}.`);
      const { requestId, runId, leaseId, message } = data;
      return { kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason, message };
    },
    [KIND.WORKER_STALL]: (payload) => {
      const data = v1.WorkerStallData.decode(reader(payload));
      const { requestId, runId, functionSlug, stepId, stalledMs, stack, ended } = data;
      const { location, codeName, sequence, suppressed, waiting, leasesGivenUp } = data;
      return {
        kind: "WORKER_STALL",
        ...{ requestId, runId, functionSlug, stepId, stalledMs, stack, ended },
        ...{ location, codeName, sequence, suppressed, waiting, leasesGivenUp },
      };
    },
  } satisfies Record<number, Decoder<WorkerFrame>> as Readonly<Record<number, Decoder<WorkerFrame> | undefined>>,
};

export function encodeSdkResponseBody(response: SdkResponse): protobuf.Writer {
  return v1.SDKResponse.encode({ ...response, status: v1.SDKResponseStatus[response.status] });
}

const STATUSES: readonly ReplyStatus[] = ["NOT_COMPLETED", "DONE", "ERROR"];

export function decodeSdkResponseBody(payload: Uint8Array): SdkResponse {
  const data = v1.SDKResponse.decode(reader(payload));
  const status = STATUSES[data.status];
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

function encodeConnect(frame: WorkerConnect): Uint8Array {
  return v1.WorkerConnectRequestData.encode({
    ...frame,
    authData: { sessionToken: frame.sessionToken, syncToken: frame.syncToken },
    apps: [...frame.apps],
    systemAttributes: { cpuCores: frame.cpuCores, memBytes: frame.memBytes, os: frame.os },
    startedAt: { seconds: Math.floor(frame.startedAtMs / 1000), nanos: (frame.startedAtMs % 1000) * 1_000_000 },
  }).finish();
}

function decodeConnect(payload: Uint8Array): WorkerConnect {
  const data = v1.WorkerConnectRequestData.decode(reader(payload));
  const startedAt = data.startedAt;
  return {
    kind: "WORKER_CONNECT",
    connectionId: data.connectionId,
    instanceId: data.instanceId,
    sessionToken: data.authData?.sessionToken ?? "",
    syncToken: data.authData?.syncToken ?? "",
    capabilities: own(data.capabilities),
    apps: (data.apps ?? []).map((app) => ({
      appName: app.appName ?? "",
      ...(app.appVersion ? { appVersion: app.appVersion } : {}),
      functions: own(app.functions ?? NO_BYTES),
    })),
    workerManualReadinessAck: data.workerManualReadinessAck,
    cpuCores: data.systemAttributes?.cpuCores ?? 0,
    memBytes: toNumber(data.systemAttributes?.memBytes),
    os: data.systemAttributes?.os ?? "",
    ...(data.environment ? { environment: data.environment } : {}),
    framework: data.framework,
    ...(data.platform ? { platform: data.platform } : {}),
    sdkVersion: data.sdkVersion,
    sdkLanguage: data.sdkLanguage,
    startedAtMs: toNumber(startedAt?.seconds) * 1000 + Math.floor((startedAt?.nanos ?? 0) / 1_000_000),
    ...(data.maxWorkerConcurrency != null ? { maxWorkerConcurrency: toNumber(data.maxWorkerConcurrency) } : {}),
  };
}

interface WireIdentity extends Omit<RequestIdentity, "stepId"> {
  stepId?: string | null;
}

function identity(data: WireIdentity): RequestIdentity {
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

const OUTCOMES: readonly (CheckpointOutcome | undefined)[] = [undefined, "stored", "stale", "invalid"];
const OUTCOME_NUMBERS: Readonly<Record<CheckpointOutcome, number>> = { stored: 1, stale: 2, invalid: 3 };

const NACK_REASONS: readonly (NackReason | undefined)[] = [
  undefined,
  "UNKNOWN_APP",
  "UNKNOWN_FUNCTION",
  "SHUTTING_DOWN",
  "AT_CAPACITY",
  "MALFORMED",
  "DRAIN_TIMEOUT",
  "STALLED",
];
const NACK_NUMBERS = Object.fromEntries(
  NACK_REASONS.flatMap((reason, number) => (reason ? [[reason, number]] : [])),
) as Readonly<Record<NackReason, number>>;

function isExtension(name: string): name is Extension {
  return (EXTENSIONS as readonly string[]).includes(name);
}

/** With the package `long` in reach, 64-bit integers decode to objects, else to numbers. */
function toNumber(value: unknown): number {
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
function own(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === 0 ? NO_BYTES : new Uint8Array(bytes);
}
