import type { PlainError, TraceEntry } from "@holdfast/core";
import type { StallDebugState } from "./stall.ts";

/**
 * CONNECTING: no connection was ready yet. ACTIVE: ready for work. RECONNECTING: lost it, getting another (work in
 * flight continues). CLOSING: no new work, finishing. CLOSED: ended by `close()`. FAILED: not restarted again, see
 * `closed`.
 */
export type ConnectionState = "CONNECTING" | "ACTIVE" | "RECONNECTING" | "CLOSING" | "CLOSED" | "FAILED";

/** A connection has another state: what `onStateChange` is given, and `holdfast:state` says. */
export interface StateChange {
  /** Of the connection, as in `connection.instanceId`. */
  readonly instanceId: string;
  readonly from: ConnectionState;
  readonly to: ConnectionState;
  /** Null while there is no connection. */
  readonly connectionId: string | null;
  /** Of RECONNECTING, CONNECTING and FAILED: the last problem that was logged. */
  readonly problem: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
}

/** The connection thread's own account of itself, mirrored to main on change and every 5 seconds. */
export interface DebugState {
  /** Milliseconds since the epoch when the thread wrote this. */
  readonly writtenAtMs: number;
  readonly state: ConnectionState;
  readonly connectionId: string | null;
  /** The connection that its gateway is closing, while its replacement is being made. */
  readonly drainingConnectionId: string | null;
  readonly extensions: readonly string[];
  readonly heartbeat: {
    readonly intervalMs: number | null;
    readonly lastSentAtMs: number | null;
    readonly lastAnsweredAtMs: number | null;
    readonly roundTripMs: number | null;
    readonly unanswered: number;
  };
  readonly inFlight: readonly {
    readonly requestId: string;
    readonly runId: string;
    readonly functionSlug: string;
    readonly state: "running" | "replied";
    readonly ageMs: number;
    /** Since the lease was granted or extended. */
    readonly leaseAgeMs: number;
  }[];
  /** How many are in flight, also when the list is cut. */
  readonly inFlightCount: number;
  readonly outbox: { readonly count: number; readonly bytes: number; readonly full: boolean };
  readonly reconnectAttempts: number;
  readonly crashes: number;
  readonly lastError: PlainError | null;
  /** How long the main thread has been stalled, as far as the thread can see; 0 = it is responsive. */
  readonly mainLagMs: number;
  readonly stalls: StallDebugState;
  readonly logsDropped: number;
  readonly transitions: readonly TraceEntry[];
}
