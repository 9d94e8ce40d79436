/**
 * How each frame of a gateway is written and read. `codec.ts` has the envelope, `codec-worker.ts` the other direction;
 * a kind of frame without a row does not compile.
 */
import { HoldfastError } from "@holdfast/core";
import { bare, type FrameKind, identity, namesOf, own, type PayloadCodecs, reader } from "./codec-parts.ts";
import { type CheckpointOutcome, EXTENSIONS, type Extension, type GatewayFrame, type WorkerFrame } from "./frames.ts";
import { connect } from "./generated/connect.js";

const { v1 } = connect;

const OUTCOME_NUMBERS: Readonly<Record<CheckpointOutcome, number>> = { stored: 1, stale: 2, invalid: 3 };
const OUTCOMES = namesOf(OUTCOME_NUMBERS);

function isExtension(name: string): name is Extension {
  return (EXTENSIONS as readonly string[]).includes(name);
}

/** What a gateway sends: a row for each kind, or this does not compile. */
export const gatewayPayloads: PayloadCodecs<GatewayFrame, Exclude<FrameKind, WorkerFrame["kind"]>> = {
  GATEWAY_HELLO: bare("GATEWAY_HELLO"),
  GATEWAY_HEARTBEAT: bare("GATEWAY_HEARTBEAT"),
  GATEWAY_CLOSING: bare("GATEWAY_CLOSING"),
  GATEWAY_CONNECTION_READY: {
    encode: (frame) => v1.GatewayConnectionReadyData.encode({ ...frame, extensions: [...frame.extensions] }).finish(),
    decode: (payload) => {
      const data = v1.GatewayConnectionReadyData.decode(reader(payload));
      return {
        kind: "GATEWAY_CONNECTION_READY",
        heartbeatInterval: data.heartbeatInterval,
        extendLeaseInterval: data.extendLeaseInterval,
        statusInterval: data.statusInterval,
        extensions: (data.extensions ?? []).filter(isExtension),
      };
    },
  },
  GATEWAY_EXECUTOR_REQUEST: {
    encode: (frame) => v1.GatewayExecutorRequestData.encode(frame).finish(),
    decode: (payload) => {
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
  },
  WORKER_REPLY_ACK: {
    encode: (frame) => v1.WorkerReplyAckData.encode(frame).finish(),
    decode: (payload) => ({
      kind: "WORKER_REPLY_ACK",
      requestId: v1.WorkerReplyAckData.decode(reader(payload)).requestId,
    }),
  },
  WORKER_REQUEST_EXTEND_LEASE_ACK: {
    encode: (frame) => v1.WorkerRequestExtendLeaseAckData.encode(frame).finish(),
    decode: (payload) => {
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
  },
  SYNC_FAILED: {
    encode: ({ code, message }) => v1.SystemError.encode({ code, message }).finish(),
    decode: (payload) => {
      const data = v1.SystemError.decode(reader(payload));
      return { kind: "SYNC_FAILED", code: data.code, message: data.message };
    },
  },
  GATEWAY_CHECKPOINT_ACK: {
    encode: (frame) =>
      v1.GatewayCheckpointAckData.encode({ ...frame, outcome: OUTCOME_NUMBERS[frame.outcome] }).finish(),
    decode: (payload) => {
      const data = v1.GatewayCheckpointAckData.decode(reader(payload));
      const outcome = OUTCOMES.get(data.outcome);
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
  },
  GATEWAY_CANCEL: {
    encode: (frame) => v1.GatewayCancelData.encode(frame).finish(),
    decode: (payload) => {
      const data = v1.GatewayCancelData.decode(reader(payload));
      return { kind: "GATEWAY_CANCEL", requestId: data.requestId, reason: data.reason };
    },
  },
};
