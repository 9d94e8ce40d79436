/** The times that gateway and worker must agree on, and what holds between them. */
import { invariant } from "@holdfast/core";
import { WIRE_LIMITS } from "./limits.ts";

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
