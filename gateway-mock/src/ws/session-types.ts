/** The states, events and effects of `session-machine.ts`, which has the rules. */
import type { Extension, GatewayFrame, UnknownFrame, WorkerConnect, WorkerFrame } from "@holdfast/protocol";
import type { SocketEnd } from "../dispatch/index.ts";

/** Where one worker's socket is, from the gateway's side. */
export type SessionState =
  | { readonly phase: "hello" }
  | { readonly phase: "registering" }
  | ({ readonly phase: "connected" } & Terms)
  | ({ readonly phase: "ready"; readonly silent: number } & Terms)
  | ({ readonly phase: "draining"; readonly silent: number; readonly closingSent: boolean } & Terms)
  | { readonly phase: "closed" };

/** What was settled in the handshake. */
export interface Terms {
  /** Agreed on `stall`: WORKER_READY counts after WORKER_PAUSE. */
  readonly mayResume: boolean;
}

/** Frames that are about requests; the engine's business. */
export type RequestFrame = Exclude<
  WorkerFrame,
  { readonly kind: "WORKER_CONNECT" | "WORKER_READY" | "WORKER_PAUSE" | "WORKER_HEARTBEAT" }
>;

export interface Accepted {
  readonly heartbeatInterval: string;
  readonly extendLeaseInterval: string;
  readonly statusInterval: string;
  readonly extensions: readonly Extension[];
  /** False: the peer takes work without saying WORKER_READY. */
  readonly manualReadiness: boolean;
}

export type SessionTimer = "hello" | "readiness" | "silence" | "drain";

export type SessionEvent =
  | { readonly type: "accept" }
  | { readonly type: "frame"; readonly frame: WorkerFrame | UnknownFrame }
  | { readonly type: "malformed"; readonly what: "envelope" | "payload" | "payload-again"; readonly kind?: number }
  /** Before the peer is accepted: it has sent too much, or others are to have its place. */
  | { readonly type: "evicted"; readonly why: "too-large" | "crowded" }
  | { readonly type: "accepted"; readonly accepted: Accepted }
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "fired"; readonly timer: SessionTimer }
  | { readonly type: "drain" }
  | { readonly type: "socket-closed"; readonly how: Exclude<SocketEnd, "silent"> };

/** Why WORKER_CONNECT was refused; `code` is the bare syscode of the close reason. */
export interface Refusal {
  readonly code: string;
  readonly closeCode: 1001 | 1008 | 1011;
  /** Said in SYNC_FAILED before the close, when the functions were the reason. */
  readonly syncMessage?: string;
}

export type SessionEffect =
  | { readonly do: "send"; readonly frame: GatewayFrame }
  | { readonly do: "close"; readonly code: number; readonly reason: string }
  | { readonly do: "terminate" }
  | { readonly do: "arm"; readonly timer: SessionTimer }
  | { readonly do: "disarm"; readonly timer: SessionTimer }
  | { readonly do: "register"; readonly connect: WorkerConnect }
  | { readonly do: "open" }
  /** With `said` the worker asked for it. */
  | { readonly do: "pause"; readonly said?: true }
  | { readonly do: "deliver"; readonly frame: RequestFrame }
  | { readonly do: "gone"; readonly how: SocketEnd }
  | { readonly do: "warn"; readonly message: string };

export interface SessionLimits {
  /** This many silent heartbeat intervals, and the socket is dropped. */
  readonly missedHeartbeats: number;
  /** As the reference's gateway. */
  readonly strict: boolean;
}
