/** How each frame of a worker is written and read; see `codec-gateway.ts` for the other direction. */
import { HoldfastError } from "@holdfast/core";
import {
  bare,
  decodeSdkResponseBody,
  encodeSdkResponseBody,
  type FrameKind,
  identity,
  NO_BYTES,
  namesOf,
  own,
  type PayloadCodecs,
  reader,
  toNumber,
} from "./codec-parts.ts";
import type { GatewayFrame, NackReason, WorkerConnect, WorkerFrame } from "./frames.ts";
import { connect } from "./generated/connect.js";

const { v1 } = connect;

const NACK_NUMBERS: Readonly<Record<NackReason, number>> = {
  UNKNOWN_APP: 1,
  UNKNOWN_FUNCTION: 2,
  SHUTTING_DOWN: 3,
  AT_CAPACITY: 4,
  MALFORMED: 5,
  DRAIN_TIMEOUT: 6,
  STALLED: 7,
};
const NACK_REASONS = namesOf(NACK_NUMBERS);

/** What a worker sends: a row for each kind, or this does not compile. */
export const workerPayloads: PayloadCodecs<WorkerFrame, Exclude<FrameKind, GatewayFrame["kind"]>> = {
  WORKER_READY: bare("WORKER_READY"),
  WORKER_PAUSE: bare("WORKER_PAUSE"),
  WORKER_HEARTBEAT: bare("WORKER_HEARTBEAT"),
  WORKER_CONNECT: { encode: encodeConnect, decode: decodeConnect },
  WORKER_REQUEST_ACK: {
    encode: (frame) => v1.WorkerRequestAckData.encode(frame).finish(),
    decode: (payload) => ({
      kind: "WORKER_REQUEST_ACK",
      ...identity(v1.WorkerRequestAckData.decode(reader(payload))),
    }),
  },
  WORKER_REPLY: {
    encode: (frame) => encodeSdkResponseBody(frame).finish(),
    decode: (payload) => ({ kind: "WORKER_REPLY", ...decodeSdkResponseBody(payload) }),
  },
  WORKER_REQUEST_EXTEND_LEASE: {
    encode: (frame) => v1.WorkerRequestExtendLeaseData.encode(frame).finish(),
    decode: (payload) => {
      const data = v1.WorkerRequestExtendLeaseData.decode(reader(payload));
      return { kind: "WORKER_REQUEST_EXTEND_LEASE", ...identity(data), leaseId: data.leaseId };
    },
  },
  WORKER_STATUS: {
    encode: ({ inFlightRequestIds, shutdownRequested }) =>
      v1.WorkerStatusData.encode({ inFlightRequestIds: [...inFlightRequestIds], shutdownRequested }).finish(),
    decode: (payload) => {
      const data = v1.WorkerStatusData.decode(reader(payload));
      return {
        kind: "WORKER_STATUS",
        inFlightRequestIds: data.inFlightRequestIds ?? [],
        shutdownRequested: data.shutdownRequested,
      };
    },
  },
  WORKER_CHECKPOINT: {
    encode: (frame) => v1.WorkerCheckpointData.encode(frame).finish(),
    decode: (payload) => {
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
  },
  WORKER_REQUEST_NACK: {
    encode: (frame) => v1.WorkerRequestNackData.encode({ ...frame, reason: NACK_NUMBERS[frame.reason] }).finish(),
    decode: (payload) => {
      const data = v1.WorkerRequestNackData.decode(reader(payload));
      const reason = NACK_REASONS.get(data.reason);
      if (reason === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown nack reason ${data.reason}.`);
      const { requestId, runId, leaseId, message } = data;
      return { kind: "WORKER_REQUEST_NACK", requestId, runId, leaseId, reason, message };
    },
  },
  WORKER_STALL: {
    encode: (frame) => v1.WorkerStallData.encode(frame).finish(),
    decode: (payload) => {
      const data = v1.WorkerStallData.decode(reader(payload));
      const { requestId, runId, functionSlug, stepId, stalledMs, stack, ended } = data;
      const { location, codeName, sequence, suppressed, waiting, leasesGivenUp } = data;
      return {
        kind: "WORKER_STALL",
        ...{ requestId, runId, functionSlug, stepId, stalledMs, stack, ended },
        ...{ location, codeName, sequence, suppressed, waiting, leasesGivenUp },
      };
    },
  },
};

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
