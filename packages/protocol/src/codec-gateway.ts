/**
 * How each frame of a gateway is written and read. `codec.ts` has the envelope, `codec-worker.ts` the other direction;
 * a kind of frame without a row does not compile.
 */
import { HoldfastError } from "@holdfast/core";
import { bare, type FrameKind, namesOf, type PayloadCodecs, withKind, withStep } from "./codec-parts.ts";
import { type CheckpointOutcome, EXTENSIONS, type Extension, type GatewayFrame, type WorkerFrame } from "./frames.ts";
import {
  readGatewayCancelData,
  readGatewayCheckpointAckData,
  readGatewayConnectionReadyData,
  readGatewayExecutorRequestData,
  readGatewayResultsData,
  readSystemError,
  readWorkerReplyAckData,
  readWorkerRequestExtendLeaseAckData,
  writeGatewayCancelData,
  writeGatewayCheckpointAckData,
  writeGatewayConnectionReadyData,
  writeGatewayExecutorRequestData,
  writeGatewayResultsData,
  writeSystemError,
  writeWorkerReplyAckData,
  writeWorkerRequestExtendLeaseAckData,
} from "./generated/connect.ts";

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
    write: writeGatewayConnectionReadyData,
    read: (reader) => {
      const { extensions, ...rest } = readGatewayConnectionReadyData(reader);
      return { kind: "GATEWAY_CONNECTION_READY", ...rest, extensions: extensions.filter(isExtension) };
    },
  },
  GATEWAY_EXECUTOR_REQUEST: {
    write: writeGatewayExecutorRequestData,
    read: (reader) => withKind("GATEWAY_EXECUTOR_REQUEST", withStep(readGatewayExecutorRequestData(reader))),
  },
  WORKER_REPLY_ACK: {
    write: writeWorkerReplyAckData,
    read: (reader) => ({ kind: "WORKER_REPLY_ACK", requestId: readWorkerReplyAckData(reader).requestId }),
  },
  WORKER_REQUEST_EXTEND_LEASE_ACK: {
    write: writeWorkerRequestExtendLeaseAckData,
    read: (reader) => {
      const { newLeaseId, ...rest } = readWorkerRequestExtendLeaseAckData(reader);
      return { kind: "WORKER_REQUEST_EXTEND_LEASE_ACK", ...rest, ...(newLeaseId ? { newLeaseId } : {}) };
    },
  },
  SYNC_FAILED: {
    write: writeSystemError,
    read: (reader) => {
      const { code, message } = readSystemError(reader);
      return { kind: "SYNC_FAILED", code, message };
    },
  },
  GATEWAY_CHECKPOINT_ACK: {
    write: (writer, frame) =>
      writeGatewayCheckpointAckData(writer, { ...frame, outcome: OUTCOME_NUMBERS[frame.outcome] }),
    read: (reader) => {
      const { requestId, sequence, outcome: number, message } = readGatewayCheckpointAckData(reader);
      const outcome = OUTCOMES.get(number);
      if (outcome === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown checkpoint outcome ${number}.`);
      return { kind: "GATEWAY_CHECKPOINT_ACK", requestId, sequence, outcome, message };
    },
  },
  GATEWAY_CANCEL: {
    write: writeGatewayCancelData,
    read: (reader) => withKind("GATEWAY_CANCEL", readGatewayCancelData(reader)),
  },
  GATEWAY_RESULTS: {
    write: writeGatewayResultsData,
    read: (reader) => withKind("GATEWAY_RESULTS", readGatewayResultsData(reader)),
  },
};
