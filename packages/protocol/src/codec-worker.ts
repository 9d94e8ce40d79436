/** How each frame of a worker is written and read; see `codec-gateway.ts` for the other direction. */
import { HoldfastError } from "@holdfast/core";
import {
  bare,
  type FrameKind,
  namesOf,
  type PayloadCodecs,
  readResponse,
  withKind,
  withStep,
  writeResponse,
} from "./codec-parts.ts";
import { type CodecReader, NO_BYTES } from "./codec-reader.ts";
import type { CodecWriter } from "./codec-writer.ts";
import type { GatewayFrame, NackReason, RunningStep, WorkerConnect, WorkerFrame } from "./frames.ts";
import {
  readWorkerCheckpointData,
  readWorkerConnectRequestData,
  readWorkerRequestAckData,
  readWorkerRequestExtendLeaseData,
  readWorkerRequestNackData,
  readWorkerStallData,
  readWorkerStateData,
  readWorkerStatusData,
  writeWorkerCheckpointData,
  writeWorkerConnectRequestData,
  writeWorkerRequestAckData,
  writeWorkerRequestExtendLeaseData,
  writeWorkerRequestNackData,
  writeWorkerStallData,
  writeWorkerStateData,
  writeWorkerStatusData,
} from "./generated/connect.ts";
import { WIRE_LIMITS } from "./limits.ts";
import type { WorkerPhase, WorkerState } from "./worker-state.ts";

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
const PHASE_NUMBERS: Readonly<Record<WorkerPhase, number>> = { CONNECTING: 1, ACTIVE: 2, RECONNECTING: 3, CLOSING: 4 };
const PHASES = namesOf(PHASE_NUMBERS);
const NO_PROCESS = { pid: 0, rssBytes: 0, cpuMs: 0, uptimeMs: 0 };
const NO_STEPS: readonly RunningStep[] = [];

/** What a worker sends: a row for each kind, or this does not compile. */
export const workerPayloads: PayloadCodecs<WorkerFrame, Exclude<FrameKind, GatewayFrame["kind"]>> = {
  WORKER_READY: bare("WORKER_READY"),
  WORKER_PAUSE: bare("WORKER_PAUSE"),
  WORKER_HEARTBEAT: bare("WORKER_HEARTBEAT"),
  WORKER_MAIN_PAUSE: bare("WORKER_MAIN_PAUSE"),
  WORKER_MAIN_READY: bare("WORKER_MAIN_READY"),
  WORKER_CONNECT: { write: writeConnect, read: readConnect },
  WORKER_REQUEST_ACK: {
    write: writeWorkerRequestAckData,
    read: (reader) => withKind("WORKER_REQUEST_ACK", withStep(readWorkerRequestAckData(reader))),
  },
  WORKER_REPLY: {
    write: writeResponse,
    read: (reader) => withKind("WORKER_REPLY", readResponse(reader)),
  },
  WORKER_REQUEST_EXTEND_LEASE: {
    write: (writer, frame) => writeWorkerRequestExtendLeaseData(writer, { runningSteps: NO_STEPS, ...frame }),
    read: (reader) => {
      const { runningSteps, ...rest } = withStep(readWorkerRequestExtendLeaseData(reader));
      return withKind("WORKER_REQUEST_EXTEND_LEASE", runningSteps.length === 0 ? rest : { ...rest, runningSteps });
    },
  },
  WORKER_STATUS: {
    write: writeWorkerStatusData,
    read: (reader) => withKind("WORKER_STATUS", readWorkerStatusData(reader)),
  },
  WORKER_CHECKPOINT: {
    write: writeWorkerCheckpointData,
    read: (reader) => withKind("WORKER_CHECKPOINT", readWorkerCheckpointData(reader)),
  },
  WORKER_REQUEST_NACK: {
    write: (writer, frame) => writeWorkerRequestNackData(writer, { ...frame, reason: NACK_NUMBERS[frame.reason] }),
    read: (reader) => {
      const { reason: number, ...rest } = readWorkerRequestNackData(reader);
      const reason = NACK_REASONS.get(number);
      if (reason === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown nack reason ${number}.`);
      return { kind: "WORKER_REQUEST_NACK", ...rest, reason };
    },
  },
  WORKER_STALL: {
    write: writeWorkerStallData,
    read: (reader) => withKind("WORKER_STALL", readWorkerStallData(reader)),
  },
  WORKER_STATE: {
    write: (writer, frame) => writeWorkerStateData(writer, { ...frame, phase: PHASE_NUMBERS[frame.phase] }),
    read: readState,
  },
};

function readState(reader: CodecReader): WorkerState {
  const { maxStateBytes } = WIRE_LIMITS;
  const bytes = reader.end - reader.position;
  if (bytes > maxStateBytes) {
    throw new HoldfastError("FRAME_INVALID", `The state of a worker has ${bytes} bytes, ${maxStateBytes} are read.`);
  }
  const { phase: number, process = NO_PROCESS, ...rest } = readWorkerStateData(reader);
  const phase = PHASES.get(number);
  if (phase === undefined) throw new HoldfastError("FRAME_INVALID", `Unknown phase ${number} of a worker.`);
  return { kind: "WORKER_STATE", ...rest, phase, process };
}

function writeConnect(writer: CodecWriter, frame: WorkerConnect): void {
  writeWorkerConnectRequestData(writer, {
    ...frame,
    authData: { sessionToken: frame.sessionToken, syncToken: frame.syncToken },
    apps: frame.apps.map((app) => ({ ...app, featureObservations: NO_BYTES })),
    systemAttributes: { cpuCores: frame.cpuCores, memBytes: frame.memBytes, os: frame.os },
    startedAt: { seconds: Math.floor(frame.startedAtMs / 1000), nanos: (frame.startedAtMs % 1000) * 1_000_000 },
  });
}

function readConnect(reader: CodecReader): WorkerConnect {
  const data = readWorkerConnectRequestData(reader);
  const { authData, systemAttributes, startedAt } = data;
  return {
    kind: "WORKER_CONNECT",
    connectionId: data.connectionId,
    instanceId: data.instanceId,
    sessionToken: authData?.sessionToken ?? "",
    syncToken: authData?.syncToken ?? "",
    capabilities: data.capabilities,
    apps: data.apps.map(({ appName, appVersion, functions }) => ({
      appName,
      ...(appVersion ? { appVersion } : {}),
      functions,
    })),
    workerManualReadinessAck: data.workerManualReadinessAck,
    cpuCores: systemAttributes?.cpuCores ?? 0,
    memBytes: systemAttributes?.memBytes ?? 0,
    os: systemAttributes?.os ?? "",
    ...(data.environment ? { environment: data.environment } : {}),
    framework: data.framework,
    ...(data.platform ? { platform: data.platform } : {}),
    sdkVersion: data.sdkVersion,
    sdkLanguage: data.sdkLanguage,
    startedAtMs: (startedAt?.seconds ?? 0) * 1000 + Math.floor((startedAt?.nanos ?? 0) / 1_000_000),
    ...(data.maxWorkerConcurrency === undefined ? {} : { maxWorkerConcurrency: data.maxWorkerConcurrency }),
  };
}
