/** WORKER_STATE of what the connection thread knows of its worker, within the limits of the wire. Pure. */
import type { PlainError, TraceEntry } from "@holdfast/core";
import {
  type PoolState,
  type ProcessState,
  type StateRequest,
  WIRE_LIMITS,
  type WorkerPhase,
  type WorkerState,
} from "@holdfast/protocol";
import type { ConnectionState, DebugState } from "../shared/debug-state.ts";

/** What the frame is made of: the debug state, and what main's memory and the process say. */
export interface StateReading {
  readonly debug: Pick<
    DebugState,
    | "state"
    | "heartbeat"
    | "inFlight"
    | "inFlightCount"
    | "outbox"
    | "reconnectAttempts"
    | "crashes"
    | "lastError"
    | "mainLagMs"
    | "logsDropped"
    | "transitions"
  > & { readonly stalls: Pick<DebugState["stalls"], "detection" | "count"> };
  /** Null: the connection has no pool. */
  readonly pool: PoolState | null;
  readonly process: ProcessState;
}

const PHASES: Readonly<Record<ConnectionState, WorkerPhase>> = {
  CONNECTING: "CONNECTING",
  ACTIVE: "ACTIVE",
  RECONNECTING: "RECONNECTING",
  CLOSING: "CLOSING",
  CLOSED: "CLOSING",
  FAILED: "CLOSING",
};

const MOST = 0xffff_ffff;

/** What the wire takes: whole, not negative. */
const whole = (value: number): number => Math.min(MOST, Math.max(0, Math.round(value)));
const size = (value: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(value)));
const short = (text: string): string => text.slice(0, WIRE_LIMITS.maxStateTextLength);

export function workerStateFrame({ debug, pool, process }: StateReading): WorkerState {
  const { heartbeat, outbox, lastError } = debug;
  return {
    kind: "WORKER_STATE",
    phase: PHASES[debug.state],
    mainLagMs: whole(debug.mainLagMs),
    ...(heartbeat.roundTripMs === null ? {} : { roundTripMs: whole(heartbeat.roundTripMs) }),
    unansweredHeartbeats: whole(heartbeat.unanswered),
    inFlight: whole(debug.inFlightCount),
    requests: debug.inFlight.slice(0, WIRE_LIMITS.maxStateRequests).map(requestOf),
    outboxCount: whole(outbox.count),
    outboxBytes: size(outbox.bytes),
    outboxFull: outbox.full,
    reconnectAttempts: whole(debug.reconnectAttempts),
    crashes: whole(debug.crashes),
    ...errorOf(lastError),
    stalls: whole(debug.stalls.count),
    stallsUnseen: debug.stalls.detection !== "on",
    logsDropped: whole(debug.logsDropped),
    ...(pool === null ? {} : { pool: poolOf(pool) }),
    process: {
      pid: whole(process.pid),
      rssBytes: size(process.rssBytes),
      cpuMs: size(process.cpuMs),
      uptimeMs: size(process.uptimeMs),
    },
    transitions: debug.transitions.slice(-WIRE_LIMITS.maxStateTransitions).map(transitionOf),
  };
}

function requestOf({ requestId, runId, functionSlug, state, ...ages }: DebugState["inFlight"][number]): StateRequest {
  return {
    requestId: short(requestId),
    runId: short(runId),
    functionSlug: short(functionSlug),
    replied: state === "replied",
    ageMs: whole(ages.ageMs),
    leaseAgeMs: whole(ages.leaseAgeMs),
  };
}

function errorOf(error: PlainError | null): Pick<WorkerState, "lastErrorCode" | "lastError"> {
  if (error === null) return { lastErrorCode: "", lastError: "" };
  return { lastErrorCode: short(error.code ?? error.name), lastError: short(error.message) };
}

function poolOf({ oldestMs, ...counts }: PoolState): PoolState {
  return {
    threads: whole(counts.threads),
    busy: whole(counts.busy),
    queued: whole(counts.queued),
    ...(oldestMs === undefined ? {} : { oldestMs: whole(oldestMs) }),
    overruns: whole(counts.overruns),
    crashes: whole(counts.crashes),
    recycled: whole(counts.recycled),
    abandoned: whole(counts.abandoned),
  };
}

function transitionOf({ atMs, event, from, to }: TraceEntry): WorkerState["transitions"][number] {
  return { atMs: size(atMs), event: short(event), from: short(from), to: short(to) };
}
