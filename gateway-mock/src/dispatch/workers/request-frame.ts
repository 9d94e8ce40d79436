/** Builds the GATEWAY_EXECUTOR_REQUEST of a dispatch; its payload is made by packages/engine (`requestPayload`). */
import type { BackoffPolicy } from "@holdfast/core";
import { type RunState, requestPayload, sha1Hex } from "@holdfast/engine";
import { type GatewayFrame, WIRE_LIMITS } from "@holdfast/protocol";
import { DEFAULT_ENVIRONMENT, environmentOf, plainName } from "@holdfast/store";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatch, JobToRun } from "./dispatch.ts";
import { queueItemOf } from "./request-id.ts";

/** Leaves room in the frame for everything around it. */
const MAX_PAYLOAD_BYTES = WIRE_LIMITS.maxFrameBytes - 256 * 1024;

/** The same values as the reference's local server. */
const ACCOUNT_ID = "00000000-0000-4000-a000-000000000000";
const ENV_ID = "00000000-0000-4000-b000-000000000000";
const envIdOf = (environment: string): string =>
  environment === DEFAULT_ENVIRONMENT ? ENV_ID : uuidOf(`environment ${environment}`);
const NO_TRACE = new TextEncoder().encode("{}");

export interface RequestFacts {
  readonly dispatch: Dispatch;
  readonly job: JobToRun;
  readonly worker: ConnectedWorker;
  readonly state: RunState;
  /** As it was registered; undefined: not here. */
  readonly functionUuid: string | undefined;
  readonly appUuid: string;
  readonly nowMs: number;
  readonly leaseId: string;
  readonly retry: BackoffPolicy;
  /** `user_trace_ctx`. */
  readonly trace: Uint8Array;
}

/** The frame that asks a worker to run a job; `bytes` alone when it would be larger than a frame may be. */
export function requestFrame(facts: RequestFacts): { readonly frame: GatewayFrame | null; readonly bytes: number } {
  const { dispatch, job, worker, state, nowMs, leaseId, retry } = facts;
  const { requestId, runId, functionId, inPlace } = dispatch;
  const uuid = facts.functionUuid ?? uuidOf(functionId);
  const stepId = job.kind === "pass" ? "step" : job.key;
  const payload = requestPayload(state, {
    requestId,
    jobId: job.id,
    attempt: job.kind === "pass" ? state.passAttempt : job.attempt,
    stepId,
    queueItem: queueItemOf({ requestId, leaseId }),
    functionUuid: worker.session.extensions.has("checkpoint") ? null : uuid,
    inPlace,
    looksAhead: worker.session.extensions.has("lookahead"),
    nowMs,
    retry,
  });
  const bytes = payload.byteLength;
  if (bytes > MAX_PAYLOAD_BYTES) return { frame: null, bytes };
  const frame: GatewayFrame = {
    kind: "GATEWAY_EXECUTOR_REQUEST",
    requestId,
    accountId: ACCOUNT_ID,
    envId: envIdOf(environmentOf(functionId)),
    appId: facts.appUuid,
    appName: plainName(state.appId),
    functionId: uuid,
    functionSlug: plainName(functionId),
    stepId,
    requestPayload: payload,
    systemTraceCtx: NO_TRACE,
    userTraceCtx: facts.trace,
    runId,
    leaseId,
    jobId: job.id,
  };
  return { frame, bytes };
}

const uuids = new Map<string, string>();

/** A stable UUID for a name, where the wire wants one. */
export function uuidOf(name: string): string {
  const known = uuids.get(name);
  if (known) return known;
  const hex = sha1Hex(name);
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  if (uuids.size > 10_000) uuids.clear();
  uuids.set(name, uuid);
  return uuid;
}
