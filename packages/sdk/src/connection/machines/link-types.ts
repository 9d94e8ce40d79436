import type { ErrorCode, LogLevel } from "@holdfast/core";
import type { ConnectionReady, Extension, GatewayFrame, StartResponse, UnknownFrame } from "@holdfast/protocol";
import type { RequiredExtension } from "../shared/serializable-config.ts";
import type { HandshakeState } from "./handshake-machine.ts";

export interface LinkRules {
  readonly hasFallbackKey: boolean;
  /** What this worker offers. */
  readonly extensions: readonly Extension[];
  /** Of these the ones that it cannot do without. */
  readonly required: readonly RequiredExtension[];
  /** Some of its functions have a part of the capacity to themselves: they do not run on the main thread. */
  readonly hasPartitions: boolean;
}

export type KeyChoice = "primary" | "fallback";

/** The connection that work goes over. */
export interface ActiveLink {
  readonly generation: number;
  readonly connectionId: string;
  readonly group: string;
  /** Its gateway is closing; it still carries replies and leases. */
  readonly draining: boolean;
  readonly heartbeatMs: number;
  /** Heartbeats sent without an answer since. */
  readonly unanswered: number;
  /** Held for the minimum uptime. */
  readonly steady: boolean;
  /**
   * What is withheld while main stalls. "all": agreed on `stall`, WORKER_READY counts after WORKER_PAUSE. "main": agreed
   * on `partitions`, too, and their functions go on. "nothing": it is a gateway of the base protocol, or one that cannot tell
   * the functions that go on from others.
   */
  readonly pauses: "all" | "main" | "nothing";
  /** It has announced a stall, which may be over. */
  readonly hasStalled: boolean;
}

/** The way to the next connection. */
export type Attempt =
  | { readonly step: "none" }
  | { readonly step: "waiting"; readonly generation: number }
  | { readonly step: "starting"; readonly generation: number; readonly key: KeyChoice }
  | {
      readonly step: "opening";
      readonly generation: number;
      readonly start: StartResponse;
      readonly handshake: HandshakeState;
    };

export interface LinkMemory {
  /** Never used twice: every start, wait and socket has its own. */
  readonly generation: number;
  /** Attempts that failed since a connection was last steady. */
  readonly failures: number;
  readonly everReady: boolean;
  readonly key: KeyChoice;
  /** Keys that were refused since one was last accepted. */
  readonly refusedKeys: number;
  /** Why the last attempt failed. */
  readonly problem: string;
  /** Gateway groups to avoid, oldest first. */
  readonly excluded: readonly string[];
}

export type LinkState =
  | { readonly phase: "idle"; readonly closing: boolean }
  | {
      readonly phase: "open";
      /** Shutdown began: connections announce themselves with WORKER_PAUSE. */
      readonly closing: boolean;
      /** The main thread stalls: no new work until it is responsive, where the gateway agreed to that. */
      readonly stalled: boolean;
      readonly active: ActiveLink | null;
      readonly attempt: Attempt;
      readonly memory: LinkMemory;
    }
  | { readonly phase: "closed" };

export type LinkEvent =
  | { readonly type: "CONNECT"; readonly resumed: boolean }
  | { readonly type: "START_OK"; readonly generation: number; readonly start: StartResponse }
  | {
      readonly type: "START_FAILED";
      readonly generation: number;
      readonly message: string;
      readonly unauthorized: boolean;
      /** The gateway asked not to be called again before this has passed. */
      readonly retryAfterMs?: number;
    }
  | { readonly type: "FRAME"; readonly generation: number; readonly frame: GatewayFrame | UnknownFrame }
  | { readonly type: "BAD_FRAME"; readonly generation: number; readonly message: string }
  | { readonly type: "SOCKET_CLOSED"; readonly generation: number; readonly code: number; readonly reason: string }
  | { readonly type: "TIMER"; readonly timer: LinkTimer; readonly generation: number }
  | { readonly type: "SHUTDOWN" }
  | { readonly type: "STALL"; readonly stalled: boolean }
  | { readonly type: "FINISH" };

export type LinkTimer = "backoff" | "open" | "heartbeat" | "uptime";

export type LinkEffect =
  | {
      readonly do: "START";
      readonly generation: number;
      readonly key: KeyChoice;
      readonly excludeGroups: readonly string[];
    }
  | { readonly do: "ABORT_START"; readonly generation: number }
  | { readonly do: "OPEN"; readonly generation: number; readonly start: StartResponse }
  | { readonly do: "CLOSE_SOCKET"; readonly generation: number; readonly code: number; readonly reason: string }
  /** For a peer that does not answer: no close handshake. */
  | { readonly do: "DESTROY_SOCKET"; readonly generation: number }
  | { readonly do: "SEND_CONNECT"; readonly generation: number; readonly start: StartResponse }
  | {
      readonly do: "SEND";
      readonly generation: number;
      readonly kind: "WORKER_READY" | "WORKER_PAUSE" | "WORKER_MAIN_PAUSE" | "WORKER_MAIN_READY" | "WORKER_HEARTBEAT";
    }
  /** Wait as the backoff policy says for this many failures, but at least so long, then TIMER backoff. */
  | { readonly do: "WAIT"; readonly generation: number; readonly failures: number; readonly atLeastMs?: number }
  | { readonly do: "SET_TIMER"; readonly timer: "open" | "uptime"; readonly generation: number }
  | { readonly do: "START_HEARTBEAT"; readonly generation: number; readonly intervalMs: number }
  | { readonly do: "CANCEL_TIMERS"; readonly generation: number }
  | {
      readonly do: "LINK_UP";
      readonly generation: number;
      readonly start: StartResponse;
      readonly ready: ConnectionReady;
    }
  /** The connection is gone and nothing has taken its place yet. */
  | { readonly do: "LINK_DOWN"; readonly generation: number }
  | { readonly do: "HEARTBEAT_ANSWERED"; readonly generation: number }
  /** Failed before the first connection: retrying would not help. */
  | { readonly do: "REFUSED"; readonly code: ErrorCode; readonly message: string }
  | { readonly do: "LOG"; readonly level: LogLevel; readonly message: string; readonly code?: ErrorCode }
  | { readonly do: "STATE_CHANGED" };
