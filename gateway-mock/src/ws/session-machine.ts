/**
 * The rules of one worker's socket as a pure machine: phases, timers, what is sent and when it closes. `session.ts`
 * drives it.
 */
import { isUlid, type Next, unreachable } from "@holdfast/core";
import type { UnknownFrame, WorkerFrame } from "@holdfast/protocol";
import type {
  Accepted,
  Refusal,
  RequestFrame,
  SessionEffect,
  SessionEvent,
  SessionLimits,
  SessionState,
  SessionTimer,
  Terms,
} from "./session-types.ts";

/** As the reference puts it. */
const NOT_ROUTABLE = "ignoring worker ready as connection is not routable";

export const initialSession: SessionState = { phase: "hello" };
const CLOSED: SessionState = { phase: "closed" };

/** True where a frame goes straight to the engine, without a turn of the machine. */
export function delivers(state: SessionState, frame: WorkerFrame | UnknownFrame): frame is RequestFrame {
  return (state.phase === "ready" || state.phase === "draining") && isRequestFrame(frame);
}

export function isRequestFrame(frame: WorkerFrame | UnknownFrame): frame is RequestFrame {
  switch (frame.kind) {
    case "WORKER_CONNECT":
    case "WORKER_READY":
    case "WORKER_PAUSE":
    case "WORKER_HEARTBEAT":
    case "UNKNOWN":
      return false;
    default:
      return true;
  }
}

/**
 * One worker's socket, from the gateway's side.
 *
 *     hello --WORKER_CONNECT--> registering --accepted--> connected --WORKER_READY--> ready --+--> draining --> closed
 *                                                             \--------WORKER_PAUSE-----------/
 *
 * Phases only go forward, except that a peer which agreed on `stall` may send WORKER_READY again after WORKER_PAUSE, as
 * long as it was not sent GATEWAY_CLOSING. The socket's end leads to `closed` from everywhere. Invariants:
 *
 * SESSION-1. GATEWAY_HELLO is sent once, first; CONNECTION_READY once, and only after WORKER_CONNECT was accepted.
 * SESSION-2. Between CONNECTION_READY and WORKER_READY or WORKER_PAUSE nothing is sent.
 * SESSION-3. The session is offered for work (`open`) only in `ready`, and withdrawn (`pause`) when it leaves it: the
 *     two take turns.
 * SESSION-4. GATEWAY_CLOSING is sent at most once, and only to a peer that has spoken READY or PAUSE.
 * SESSION-5. In `ready` and `draining` every heartbeat is answered; in no other phase.
 * SESSION-6. Frames about requests are delivered in `ready` and `draining` only.
 * SESSION-7. Nothing is sent, armed or delivered in `closed`; `gone` is said exactly once.
 * SESSION-8. A peer that did not agree on `stall` is not offered again once it paused: as on gateways of the base
 *     protocol.
 * SESSION-9. A peer that says nothing cannot hold a socket: hello, readiness, silence and drain each have a deadline.
 * SESSION-10. Silence is counted in the gateway's own intervals, not measured: a gateway that was stopped itself has
 *     one interval of it, and hears what its peers said meanwhile before there is another.
 * SESSION-11. With `strict` what cannot be read ends the connection with the reference's code, and so does readiness
 *     while it drains.
 * SESSION-12. Frames that cannot be read end the connection: what is no frame at all, or comes first, at once; others
 *     when there are too many (`payload-again`).
 * SESSION-13. A peer is evicted only before it is accepted.
 */
export function stepSession(
  limits: SessionLimits,
  state: SessionState,
  event: SessionEvent,
): Next<SessionState, SessionEffect> {
  if (state.phase === "closed") return [state, []];
  switch (event.type) {
    case "accept":
      return [
        state,
        [
          { do: "send", frame: { kind: "GATEWAY_HELLO" } },
          { do: "arm", timer: "hello" },
        ],
      ];
    case "frame":
      return onFrame(limits, state, event.frame);
    case "malformed":
      return onMalformed(limits, state, event);
    case "evicted":
      return onEvicted(state, event.why);
    case "accepted":
      return onAccepted(state, event.accepted);
    case "refused":
      return onRefused(state, event.refusal);
    case "fired":
      return onTimer(limits, state, event.timer);
    case "drain":
      return onDrain(state);
    case "socket-closed":
      return [CLOSED, [...withdrawn(state), { do: "gone", how: event.how }]];
    default:
      return unreachable(event);
  }
}

function onFrame(
  limits: SessionLimits,
  state: Exclude<SessionState, { phase: "closed" }>,
  frame: WorkerFrame | UnknownFrame,
): Next<SessionState, SessionEffect> {
  switch (state.phase) {
    case "hello":
      if (frame.kind !== "WORKER_CONNECT") return closing(state, 1008, "connect_worker_hello_invalid_msg");
      return [
        { phase: "registering" },
        [
          { do: "disarm", timer: "hello" },
          { do: "register", connect: frame },
        ],
      ];
    case "registering":
      return [state, [{ do: "warn", message: `ignored ${frame.kind} before the end of the handshake` }]];
    case "connected":
      return onReadiness(state, frame);
    case "ready":
    case "draining":
      return onEstablished(limits, state, frame);
    default:
      return unreachable(state);
  }
}

function onReadiness(
  state: Extract<SessionState, { phase: "connected" }>,
  frame: WorkerFrame | UnknownFrame,
): Next<SessionState, SessionEffect> {
  const terms = termsOf(state);
  if (frame.kind === "WORKER_READY") {
    return [
      { phase: "ready", ...terms, silent: 0 },
      [{ do: "disarm", timer: "readiness" }, { do: "arm", timer: "silence" }, { do: "open" }],
    ];
  }
  if (frame.kind === "WORKER_PAUSE") {
    return [
      { phase: "draining", ...terms, silent: 0, closingSent: false },
      [
        { do: "disarm", timer: "readiness" },
        { do: "arm", timer: "silence" },
      ],
    ];
  }
  return [state, [{ do: "warn", message: `ignored ${frame.kind} before WORKER_READY` }]];
}

function onEstablished(
  limits: SessionLimits,
  state: Extract<SessionState, { phase: "ready" | "draining" }>,
  frame: WorkerFrame | UnknownFrame,
): Next<SessionState, SessionEffect> {
  const terms = termsOf(state);
  switch (frame.kind) {
    case "WORKER_HEARTBEAT":
      return [{ ...state, silent: 0 }, [{ do: "send", frame: { kind: "GATEWAY_HEARTBEAT" } }]];
    case "WORKER_PAUSE":
      if (state.phase === "draining") return [state, []];
      return [{ phase: "draining", ...terms, silent: 0, closingSent: false }, [{ do: "pause", said: true }]];
    case "WORKER_READY":
      if (state.phase === "ready") return [state, []];
      if (state.closingSent) return limits.strict ? closing(state, 1001, "connect_gateway_closing") : [state, []];
      if (!terms.mayResume) return [state, [{ do: "warn", message: NOT_ROUTABLE }]];
      return [{ phase: "ready", ...terms, silent: 0 }, [{ do: "open" }]];
    case "WORKER_CONNECT":
    case "UNKNOWN":
      return [state, [{ do: "warn", message: `ignored unexpected ${describe(frame)}` }]];
    case "WORKER_REQUEST_EXTEND_LEASE":
      if (limits.strict && !isUlid(frame.leaseId)) return closing(state, 1008, BAD_PAYLOADS[frame.kind]);
      return [state, [{ do: "deliver", frame }]];
    default:
      return [state, [{ do: "deliver", frame }]];
  }
}

/** What ends a connection of the reference when its payload cannot be read. */
const BAD_PAYLOADS = {
  WORKER_REQUEST_ACK: "connect_worker_request_ack_invalid_payload",
  WORKER_REQUEST_EXTEND_LEASE: "connect_worker_request_extend_lease_invalid_payload",
  WORKER_REPLY: "connect_internal_error",
} as const;
const BAD_PAYLOADS_BY_NUMBER: Readonly<Record<number, (typeof BAD_PAYLOADS)[keyof typeof BAD_PAYLOADS]>> = {
  5: BAD_PAYLOADS.WORKER_REQUEST_ACK,
  6: BAD_PAYLOADS.WORKER_REPLY,
  12: BAD_PAYLOADS.WORKER_REQUEST_EXTEND_LEASE,
};

function onMalformed(
  { strict }: SessionLimits,
  state: SessionState,
  { what, kind }: Extract<SessionEvent, { type: "malformed" }>,
): Next<SessionState, SessionEffect> {
  if (what === "envelope") return closing(state, 1007, "connect_worker_frame_invalid");
  if (state.phase === "hello") return closing(state, 1008, "connect_worker_hello_invalid_payload");
  const reason = strict && kind !== undefined ? BAD_PAYLOADS_BY_NUMBER[kind] : undefined;
  if (reason !== undefined) return closing(state, reason === BAD_PAYLOADS.WORKER_REPLY ? 1011 : 1008, reason);
  return what === "payload" ? [state, []] : closing(state, 1008, "connect_worker_too_many_invalid_frames");
}

function onEvicted(state: SessionState, why: "too-large" | "crowded"): Next<SessionState, SessionEffect> {
  if (state.phase !== "hello" && state.phase !== "registering") return [state, []];
  return why === "too-large"
    ? closing(state, 1009, "connect_worker_hello_too_large")
    : closing(state, 1013, "connect_too_many_pending_connections");
}

function onAccepted(state: SessionState, accepted: Accepted): Next<SessionState, SessionEffect> {
  if (state.phase !== "registering") return [state, []];
  const { heartbeatInterval, extendLeaseInterval, statusInterval, extensions } = accepted;
  const ready: SessionEffect = {
    do: "send",
    frame: { kind: "GATEWAY_CONNECTION_READY", heartbeatInterval, extendLeaseInterval, statusInterval, extensions },
  };
  const terms: Terms = { mayResume: extensions.includes("stall") };
  if (accepted.manualReadiness) return [{ phase: "connected", ...terms }, [ready, { do: "arm", timer: "readiness" }]];
  return [{ phase: "ready", ...terms, silent: 0 }, [ready, { do: "arm", timer: "silence" }, { do: "open" }]];
}

function onRefused(state: SessionState, refusal: Refusal): Next<SessionState, SessionEffect> {
  if (state.phase !== "registering") return [state, []];
  const { code, closeCode, syncMessage } = refusal;
  const [next, effects] = closing(state, closeCode, code);
  if (syncMessage === undefined) return [next, effects];
  return [next, [{ do: "send", frame: { kind: "SYNC_FAILED", code, message: syncMessage } }, ...effects]];
}

function onTimer(limits: SessionLimits, state: SessionState, timer: SessionTimer): Next<SessionState, SessionEffect> {
  switch (timer) {
    case "hello":
      return state.phase === "hello" ? closing(state, 1008, "connect_worker_hello_timeout") : [state, []];
    case "readiness":
      if (state.phase !== "connected") return [state, []];
      // The reference has no such deadline; it drops the connection as one without heartbeats.
      if (limits.strict) return [CLOSED, [{ do: "terminate" }, { do: "gone", how: "silent" }]];
      return closing(state, 1008, "connect_worker_ready_timeout");
    case "silence":
      if (state.phase !== "ready" && state.phase !== "draining") return [state, []];
      if (state.silent < limits.missedHeartbeats) {
        return [{ ...state, silent: state.silent + 1 }, [{ do: "arm", timer: "silence" }]];
      }
      return [
        CLOSED,
        [
          { do: "warn", message: "no heartbeat for too long; dropping the socket" },
          ...withdrawn(state),
          { do: "terminate" },
          { do: "gone", how: "silent" },
        ],
      ];
    case "drain":
      return state.phase === "draining" ? closing(state, 1001, "connect_gateway_closing") : [state, []];
    default:
      return unreachable(timer);
  }
}

function onDrain(state: SessionState): Next<SessionState, SessionEffect> {
  switch (state.phase) {
    case "hello":
    case "registering":
    case "connected":
      return closing(state, 1001, "connect_gateway_closing");
    case "ready":
      return [
        { phase: "draining", ...termsOf(state), silent: state.silent, closingSent: true },
        [{ do: "pause" }, { do: "send", frame: { kind: "GATEWAY_CLOSING" } }, { do: "arm", timer: "drain" }],
      ];
    case "draining":
      if (state.closingSent) return [state, []];
      return [
        { ...state, closingSent: true },
        [
          { do: "send", frame: { kind: "GATEWAY_CLOSING" } },
          { do: "arm", timer: "drain" },
        ],
      ];
    case "closed":
      return [state, []];
    default:
      return unreachable(state);
  }
}

function closing(state: SessionState, code: number, reason: string): Next<SessionState, SessionEffect> {
  return [CLOSED, [...withdrawn(state), { do: "close", code, reason }, { do: "gone", how: "broken" }]];
}

function withdrawn(state: SessionState): readonly SessionEffect[] {
  return state.phase === "ready" ? [{ do: "pause" }] : [];
}

function termsOf({ mayResume }: Terms): Terms {
  return { mayResume };
}

function describe(frame: WorkerFrame | UnknownFrame): string {
  return frame.kind === "UNKNOWN" ? `kind ${frame.number}` : frame.kind;
}
