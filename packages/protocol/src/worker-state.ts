/**
 * Extension "state": what a worker says of itself, for people who look at its gateway. Sizes and spans are in the units
 * that end their names. Nothing of a run depends on it.
 */

/** Of the connection that the frame came by: RECONNECTING = its gateway closes it, and another one is being made. */
export type WorkerPhase = "CONNECTING" | "ACTIVE" | "RECONNECTING" | "CLOSING";

/** A request that the worker has. */
export interface StateRequest {
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /** Its reply is on its way. */
  readonly replied: boolean;
  readonly ageMs: number;
  /** Since the lease was granted or extended. */
  readonly leaseAgeMs: number;
}

/**
 * The threads that isolated code runs in, as `debugState().isolation` has them. While the main thread is blocked all but
 * `busy` are as they were before.
 */
export interface PoolState {
  readonly threads: number;
  readonly busy: number;
  readonly queued: number;
  /** How long the turn that has waited or run for the longest is there; absent: there is none. */
  readonly oldestMs?: number | undefined;
  readonly overruns: number;
  readonly crashes: number;
  readonly recycled: number;
  readonly abandoned: number;
}

/** The worker's process, all of its threads. */
export interface ProcessState {
  readonly pid: number;
  readonly rssBytes: number;
  /** Since it has started. */
  readonly cpuMs: number;
  readonly uptimeMs: number;
}

/** A step of the machine that keeps the connection. */
export interface StateTransition {
  /** On the worker's clock, since the Unix epoch. */
  readonly atMs: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
}

export interface WorkerState {
  readonly kind: "WORKER_STATE";
  readonly phase: WorkerPhase;
  /** For how long the main thread has been blocked; 0 = it is responsive. */
  readonly mainLagMs: number;
  /** Of the last heartbeat that was answered; absent: none was. */
  readonly roundTripMs?: number | undefined;
  readonly unansweredHeartbeats: number;
  readonly inFlight: number;
  /** The oldest of them, at most `WIRE_LIMITS.maxStateRequests`. */
  readonly requests: readonly StateRequest[];
  /** Replies and checkpoints that were not acknowledged. */
  readonly outboxCount: number;
  readonly outboxBytes: number;
  readonly outboxFull: boolean;
  /** In a row, without success. */
  readonly reconnectAttempts: number;
  /** Of the connection thread. */
  readonly crashes: number;
  /** Both empty: there was none. */
  readonly lastErrorCode: string;
  readonly lastError: string;
  /** Of the main thread, since the connection thread has started. */
  readonly stalls: number;
  /** They are not looked for: switched off, or a debugger is attached. */
  readonly stallsUnseen: boolean;
  readonly logsDropped: number;
  /** Absent: the worker has none. */
  readonly pool?: PoolState | undefined;
  readonly process: ProcessState;
  /** The last ones, oldest first, at most `WIRE_LIMITS.maxStateTransitions`. */
  readonly transitions: readonly StateTransition[];
}
