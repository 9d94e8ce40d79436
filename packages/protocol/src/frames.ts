/**
 * What crosses the WebSocket, as plain unions: everyone but the codec works with these and never sees generated code.
 * Names and meanings follow `proto/connect.proto`. Byte fields hold JSON unless said otherwise.
 */

import type { WorkerState } from "./worker-state.ts";

/** The fields by which a peer recognises a request; echoed verbatim in everything that is said about it. */
export interface RequestIdentity {
  readonly requestId: string;
  readonly accountId: string;
  readonly envId: string;
  readonly appId: string;
  readonly functionSlug: string;
  /** "step" for a discovery pass, else the hashed id of the one step to run. */
  readonly stepId: string;
  readonly systemTraceCtx: Uint8Array;
  readonly userTraceCtx: Uint8Array;
  readonly runId: string;
}

export interface ExecutorRequest extends RequestIdentity {
  readonly kind: "GATEWAY_EXECUTOR_REQUEST";
  readonly appName: string;
  readonly functionId: string;
  readonly requestPayload: Uint8Array;
  readonly leaseId: string;
  readonly jobId: string;
}

export interface ConnectionReady {
  readonly kind: "GATEWAY_CONNECTION_READY";
  /** Durations with one number and one unit ("10s"); empty when the peer left them out. */
  readonly heartbeatInterval: string;
  readonly extendLeaseInterval: string;
  readonly statusInterval: string;
  readonly extensions: readonly Extension[];
}

export interface ExtendLeaseAck {
  readonly kind: "WORKER_REQUEST_EXTEND_LEASE_ACK";
  readonly requestId: string;
  readonly accountId: string;
  readonly envId: string;
  readonly appId: string;
  readonly functionSlug: string;
  /** Absent: the lease is lost. */
  readonly newLeaseId?: string;
}

/** `stored` = durable; `stale` = stop, another worker has the work or the run ended; `invalid` = report the ops as a reply. */
export type CheckpointOutcome = "stored" | "stale" | "invalid";

export interface CheckpointAck {
  readonly kind: "GATEWAY_CHECKPOINT_ACK";
  readonly requestId: string;
  readonly sequence: number;
  readonly outcome: CheckpointOutcome;
  readonly message: string;
}

/** What the gateway has ended of a run while a request of it is under way. */
export interface GatewayResults {
  readonly kind: "GATEWAY_RESULTS";
  readonly requestId: string;
  /** JSON: `[[hashed step id, entry as in the steps of a request], ...]`, in the order of the run. */
  readonly results: string;
  /** How many were sent for this request before. */
  readonly offset: number;
}

export type GatewayFrame =
  | { readonly kind: "GATEWAY_HELLO" }
  | ConnectionReady
  | ExecutorRequest
  | { readonly kind: "WORKER_REPLY_ACK"; readonly requestId: string }
  | { readonly kind: "GATEWAY_HEARTBEAT" }
  | { readonly kind: "GATEWAY_CLOSING" }
  | ExtendLeaseAck
  | { readonly kind: "SYNC_FAILED"; readonly code: string; readonly message: string }
  | CheckpointAck
  | { readonly kind: "GATEWAY_CANCEL"; readonly requestId: string; readonly reason: string }
  | GatewayResults;

export interface AppConfiguration {
  readonly appName: string;
  readonly appVersion?: string;
  /** JSON array of function configurations. */
  readonly functions: Uint8Array;
}

export interface WorkerConnect {
  readonly kind: "WORKER_CONNECT";
  readonly connectionId: string;
  readonly instanceId: string;
  readonly sessionToken: string;
  readonly syncToken: string;
  readonly capabilities: Uint8Array;
  readonly apps: readonly AppConfiguration[];
  readonly workerManualReadinessAck: boolean;
  readonly cpuCores: number;
  readonly memBytes: number;
  readonly os: string;
  readonly environment?: string;
  readonly framework: string;
  readonly platform?: string;
  readonly sdkVersion: string;
  readonly sdkLanguage: string;
  readonly startedAtMs: number;
  /** Absent or not positive = unlimited. */
  readonly maxWorkerConcurrency?: number;
}

export type ReplyStatus = "NOT_COMPLETED" | "DONE" | "ERROR";

/** The outcome of a request: the payload of WORKER_REPLY and the whole body of the HTTP flush. */
export interface SdkResponse {
  readonly requestId: string;
  readonly accountId: string;
  readonly envId: string;
  readonly appId: string;
  readonly status: ReplyStatus;
  readonly body: Uint8Array;
  /** With DONE this means: failed permanently. Look at it before `status`. */
  readonly noRetry: boolean;
  /** Whole seconds, or an ISO 8601 instant. */
  readonly retryAfter?: string;
  readonly sdkVersion: string;
  readonly requestVersion: number;
  readonly systemTraceCtx: Uint8Array;
  readonly userTraceCtx: Uint8Array;
  readonly runId: string;
}

export interface Checkpoint {
  readonly requestId: string;
  readonly runId: string;
  readonly leaseId: string;
  /** 1, 2, ... within one request. */
  readonly sequence: number;
  /** JSON array of ops. */
  readonly ops: Uint8Array;
}

export type NackReason =
  | "UNKNOWN_APP"
  | "UNKNOWN_FUNCTION"
  | "SHUTTING_DOWN"
  | "AT_CAPACITY"
  | "MALFORMED"
  | "DRAIN_TIMEOUT"
  | "STALLED";

export interface RequestNack {
  readonly kind: "WORKER_REQUEST_NACK";
  readonly requestId: string;
  readonly runId: string;
  readonly leaseId: string;
  readonly reason: NackReason;
  readonly message: string;
}

/** Extension "stall": the worker's main thread does not move. Texts that are not known are empty. */
export interface WorkerStall {
  readonly kind: "WORKER_STALL";
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /** As the author wrote it. */
  readonly stepId: string;
  readonly stalledMs: number;
  /** Innermost frame first, one a line. */
  readonly stack: string;
  /** It is responsive again. */
  readonly ended: boolean;
  /** `file:line:column` of the blocking code, and the function it is in. */
  readonly location: string;
  readonly codeName: string;
  /** Rises with every report of one process. */
  readonly sequence: number;
  /** Reports left out before this one. */
  readonly suppressed: number;
  /** Other requests that cannot go on meanwhile. */
  readonly waiting: number;
  readonly leasesGivenUp: boolean;
  /** How much of `stalledMs` the main thread waited for a processor. */
  readonly waitedMs: number;
  /** That is why: no code is to blame, and the request is only one that waits. */
  readonly noCpu: boolean;
}

/** Extension "progress": a step whose body has been running for a while. */
export interface RunningStep {
  /** As the author wrote it. */
  readonly id: string;
  readonly runningMs: number;
}

export interface ExtendLease extends RequestIdentity {
  readonly kind: "WORKER_REQUEST_EXTEND_LEASE";
  readonly leaseId: string;
  /** Oldest first; absent: none has been running for long. */
  readonly runningSteps?: readonly RunningStep[];
}

export type WorkerFrame =
  | WorkerConnect
  | { readonly kind: "WORKER_READY" }
  | ({ readonly kind: "WORKER_REQUEST_ACK" } & RequestIdentity)
  | ({ readonly kind: "WORKER_REPLY" } & SdkResponse)
  | { readonly kind: "WORKER_PAUSE" }
  | { readonly kind: "WORKER_HEARTBEAT" }
  | ExtendLease
  | {
      readonly kind: "WORKER_STATUS";
      readonly inFlightRequestIds: readonly string[];
      readonly shutdownRequested: boolean;
    }
  | ({ readonly kind: "WORKER_CHECKPOINT" } & Checkpoint)
  | RequestNack
  | WorkerStall
  | WorkerState
  /** Extension "partitions": until WORKER_MAIN_READY nothing new of the functions that are in no partition. */
  | { readonly kind: "WORKER_MAIN_PAUSE" }
  | { readonly kind: "WORKER_MAIN_READY" };

/** A kind that this version does not know: ignored with a warning, never an error. */
export interface UnknownFrame {
  readonly kind: "UNKNOWN";
  readonly number: number;
}

export interface StartResponse {
  readonly connectionId: string;
  readonly gatewayEndpoint: string;
  readonly gatewayGroup: string;
  readonly sessionToken: string;
  readonly syncToken: string;
}

/** What both sides may agree to use beyond the base protocol. */
export const EXTENSIONS = [
  "checkpoint",
  "nack",
  "cancel",
  "stall",
  "lookahead",
  "queues",
  "partitions",
  "since",
  "continue",
  "progress",
  "state",
  "results",
] as const;
export type Extension = (typeof EXTENSIONS)[number];

/** The extension that each frame of a gateway belongs to; null = the base protocol, which every peer knows. */
export const EXTENSION_OF_FRAME: Readonly<Record<GatewayFrame["kind"], Extension | null>> = {
  GATEWAY_HELLO: null,
  GATEWAY_CONNECTION_READY: null,
  GATEWAY_HEARTBEAT: null,
  GATEWAY_CLOSING: null,
  SYNC_FAILED: null,
  GATEWAY_EXECUTOR_REQUEST: null,
  WORKER_REPLY_ACK: null,
  WORKER_REQUEST_EXTEND_LEASE_ACK: null,
  GATEWAY_CHECKPOINT_ACK: "checkpoint",
  GATEWAY_CANCEL: "cancel",
  GATEWAY_RESULTS: "results",
};
