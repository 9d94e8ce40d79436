/**
 * The first frames of one socket, until it is ready or fails. `link-attempt.ts` runs it inside the link machine for
 * each attempt to connect.
 */
import { type ErrorCode, type Next, unreachable } from "@holdfast/core";
import type { ConnectionReady, GatewayFrame, UnknownFrame } from "@holdfast/protocol";
import type { RequiredExtension } from "../shared/serializable-config.ts";
import { isLinkFrame } from "./frame-subjects.ts";

/**
 * The handshake of one socket: GATEWAY_HELLO, then WORKER_CONNECT, then GATEWAY_CONNECTION_READY.
 *
 * HANDSHAKE-1. WORKER_CONNECT is sent exactly once, and only as the answer to the first HELLO.
 * HANDSHAKE-2. Only CONNECTION_READY after WORKER_CONNECT makes it ready.
 * HANDSHAKE-3. Any other known frame, bytes that are no frame, the end of the socket or of the time fail it, with the reason.
 *     A kind that this version does not know is ignored.
 * HANDSHAKE-4. `ready` and `failed` are final: later events change nothing and have no effects.
 * HANDSHAKE-5. It is permanent (retrying will not help) only if the gateway said so: SYNC_FAILED, or a close with code
 *     1008 and a reason other than its hello timeout; or by HANDSHAKE-6.
 * HANDSHAKE-6. CONNECTION_READY without an extension that this worker cannot do without fails it, with the code and the
 *     message of that extension.
 */
export type HandshakeState = { readonly phase: "hello" | "welcome" | "ready" | "failed" };

export type HandshakeEvent =
  | { readonly type: "FRAME"; readonly frame: GatewayFrame | UnknownFrame }
  | { readonly type: "BAD_FRAME"; readonly message: string }
  | { readonly type: "CLOSED"; readonly code: number; readonly reason: string }
  | { readonly type: "TIMEOUT" };

export interface Refusal {
  readonly message: string;
  readonly permanent: boolean;
  /** Of the error, when it is permanent. */
  readonly code: ErrorCode;
}

export type HandshakeEffect =
  | { readonly do: "SEND_CONNECT" }
  | { readonly do: "BECOME_READY"; readonly ready: ConnectionReady }
  | ({ readonly do: "GIVE_UP" } & Refusal);

export const HANDSHAKE_START: HandshakeState = { phase: "hello" };

export function stepHandshake(
  state: HandshakeState,
  event: HandshakeEvent,
  required: readonly RequiredExtension[] = [],
): Next<HandshakeState, HandshakeEffect> {
  if (state.phase === "ready" || state.phase === "failed") return [state, []];
  switch (event.type) {
    case "FRAME":
      return onFrame(state, event.frame, required);
    case "BAD_FRAME":
      return giveUp(`The gateway sent bytes that are not a valid frame: ${event.message}`);
    case "CLOSED":
      return giveUp(
        `The gateway closed the socket during the handshake (${event.code} ${event.reason || "without a reason"}).`,
        event.code === 1008 && event.reason !== "connect_worker_hello_timeout",
      );
    case "TIMEOUT":
      return giveUp(
        state.phase === "hello"
          ? "The gateway did not send GATEWAY_HELLO in time."
          : "The gateway did not become ready in time.",
      );
    default:
      return unreachable(event);
  }
}

function onFrame(
  state: HandshakeState,
  frame: GatewayFrame | UnknownFrame,
  required: readonly RequiredExtension[],
): Next<HandshakeState, HandshakeEffect> {
  if (frame.kind === "UNKNOWN") return [state, []];
  if (!isLinkFrame(frame)) return outOfOrder(state, frame);
  switch (frame.kind) {
    case "SYNC_FAILED":
      return giveUp(`The gateway rejected the app's functions: ${frame.message || "no reason"} (${frame.code}).`, true);
    case "GATEWAY_HELLO":
      return state.phase === "hello" ? [{ phase: "welcome" }, [{ do: "SEND_CONNECT" }]] : outOfOrder(state, frame);
    case "GATEWAY_CONNECTION_READY":
      if (state.phase === "hello") return outOfOrder(state, frame);
      return becomeReady(frame, required);
    case "GATEWAY_HEARTBEAT":
    case "GATEWAY_CLOSING":
      return outOfOrder(state, frame);
    default:
      return unreachable(frame);
  }
}

function becomeReady(
  ready: ConnectionReady,
  required: readonly RequiredExtension[],
): Next<HandshakeState, HandshakeEffect> {
  const missing = required.find(({ extension }) => !ready.extensions.includes(extension));
  if (missing) return giveUp(missing.message, true, missing.code);
  return [{ phase: "ready" }, [{ do: "BECOME_READY", ready }]];
}

function outOfOrder({ phase }: HandshakeState, { kind }: GatewayFrame): Next<HandshakeState, HandshakeEffect> {
  return phase === "hello"
    ? giveUp(`The gateway's first frame was ${kind} instead of GATEWAY_HELLO.`)
    : giveUp(`The gateway sent ${kind} instead of GATEWAY_CONNECTION_READY.`);
}

function giveUp(
  message: string,
  permanent = false,
  code: ErrorCode = "CONNECT_REFUSED",
): Next<HandshakeState, HandshakeEffect> {
  return [{ phase: "failed" }, [{ do: "GIVE_UP", message, permanent, code }]];
}
