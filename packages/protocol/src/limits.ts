/**
 * Names, limits and times that gateway and worker must agree on. Those of the base protocol are not ours to change.
 */
import { invariant } from "@holdfast/core";

/** Offered and echoed in the WebSocket upgrade. */
export const SUBPROTOCOL = "v0.connect.inngest.com";
export const START_PATH = "/v0/connect/start";
export const FLUSH_PATH = "/v0/connect/flush";
export const CONNECT_PATH = "/v0/connect";
/** Below them `/{runId}/actions` has the steps of a run and `/{runId}/batch` its events. */
export const RUNS_PATH = "/v0/runs";
export const PROTOBUF_CONTENT_TYPE = "application/protobuf";

const MiB = 1024 * 1024;

/** Sizes of what crosses the wire. Those without a note are facts of the base protocol. */
export const WIRE_LIMITS = {
  /** One WebSocket message, either way. */
  maxFrameBytes: 8 * MiB,
  /** One step's or function's result. */
  maxOutputBytes: 4 * MiB,
  /** With more than this the worker fetches events and steps over HTTP (`ctx.use_api`). */
  maxRequestPayloadBytes: 4 * MiB,
  /** Characters of a run's events and step results. */
  maxRunStateLength: 32 * MiB,
  maxStartBodyBytes: 1 * MiB,
  maxFlushBodyBytes: 8 * MiB,
  maxEventBytes: 3 * MiB,
  maxEventsPerRequest: 5000,
  maxEventNameLength: 255,
  /** Ours. */
  maxSignalLength: 512,
  maxAppsPerConnection: 100,
  /** What the reference allows without an entitlement to more. */
  plainAppsPerConnection: 10,
  maxStepsPerRun: 1000,
  maxRetries: 20,
  maxDefersPerRun: 20,
  /** Characters of all their inputs. */
  maxDeferLength: 4 * MiB,
  /** Ours: characters of the stack in WORKER_STALL. */
  maxStallStackLength: 8_000,
  /** Ours: how deep JSON from a peer may nest. */
  maxJsonDepth: 200,
  /**
   * Ours: the same for event data and step results: requests, and events that contain others, wrap them in more levels.
   */
  maxDataDepth: 180,
} as const;

/** Intervals that a gateway sends to workers of the plain protocol (the reference's own) ... */
export const PLAIN_INTERVALS = { heartbeatMs: 10_000, leaseMs: 120_000, extendLeaseMs: 30_000 } as const;
/** ... and to those that offer the extensions. */
export const EXTENDED_INTERVALS = { heartbeatMs: 5_000, leaseMs: 20_000, extendLeaseMs: 5_000 } as const;

/** What a worker assumes when CONNECTION_READY leaves an interval empty or gives one it cannot read. */
export const WORKER_FALLBACK_INTERVALS = { heartbeatMs: 10_000, extendLeaseMs: 5_000 } as const;

export const TIMEOUTS = {
  /** Gateway: from HELLO to WORKER_CONNECT. */
  helloMs: 5_000,
  /** Worker: from the upgrade request to CONNECTION_READY. */
  openMs: 10_000,
  /** Worker: one start or flush call. */
  httpMs: 10_000,
  /** Worker: a reply without acknowledgement is sent again or flushed after this. */
  replyAckMs: 5_000,
  /** Worker: this many heartbeats without an answer, and one interval more, and the peer is dead. */
  missedHeartbeats: 2,
  /** Gateway: this many silent heartbeat intervals, and the connection is dropped. */
  gatewayMissedHeartbeats: 5,
  /** Gateway: work that was not acknowledged after this goes elsewhere. */
  requestAckMs: 5_000,
  /** Gateway: how long the same instance may take to come back before its leases are released. */
  reconnectGraceMs: 5_000,
  /** Gateway: from GATEWAY_CLOSING to the close of the old socket. */
  drainMs: 25_000,
} as const;

for (const intervals of [PLAIN_INTERVALS, EXTENDED_INTERVALS]) {
  invariant(intervals.leaseMs >= 4 * intervals.extendLeaseMs, "a lease survives three lost extensions");
}
invariant(TIMEOUTS.openMs > TIMEOUTS.helloMs, "the worker waits longer than the gateway's handshake timeout");
invariant(
  WIRE_LIMITS.maxFrameBytes >= WIRE_LIMITS.maxOutputBytes + WIRE_LIMITS.maxRequestPayloadBytes,
  "a frame holds an output and an input of the largest size",
);
