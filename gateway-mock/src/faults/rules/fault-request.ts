/** How a fault is asked for, as types for callers; `read-rule.ts` checks it. Imports nothing: apps see all of it. */

/** What may go wrong. */
export type FaultKind =
  | "drop"
  | "delay"
  | "duplicate"
  | "reorder"
  | "cut"
  | "half-open"
  | "close"
  | "withhold-acks"
  | "kill"
  | "refuse-start"
  | "refuse-flush"
  | "slow-database"
  | "refuse-database"
  | "lose-answer"
  | "expire-leases"
  | "kill-connection"
  | "skip-time";

/** Kinds of frames, as docs/wire-extensions.md and the connect protocol name them. */
export type FaultFrameKind =
  | "WORKER_CONNECT"
  | "WORKER_READY"
  | "WORKER_REQUEST_ACK"
  | "WORKER_REPLY"
  | "WORKER_PAUSE"
  | "WORKER_HEARTBEAT"
  | "WORKER_REQUEST_EXTEND_LEASE"
  | "WORKER_STATUS"
  | "WORKER_CHECKPOINT"
  | "WORKER_REQUEST_NACK"
  | "WORKER_STALL"
  | "WORKER_STATE"
  | "WORKER_MAIN_PAUSE"
  | "WORKER_MAIN_READY"
  | "GATEWAY_HELLO"
  | "GATEWAY_CONNECTION_READY"
  | "GATEWAY_EXECUTOR_REQUEST"
  | "WORKER_REPLY_ACK"
  | "GATEWAY_HEARTBEAT"
  | "GATEWAY_CLOSING"
  | "WORKER_REQUEST_EXTEND_LEASE_ACK"
  | "SYNC_FAILED"
  | "GATEWAY_CHECKPOINT_ACK"
  | "GATEWAY_CANCEL"
  | "GATEWAY_RESULTS";

/** What the engine asks of the database, where faults reach it. */
export type FaultOperation =
  | "commit"
  | "intake"
  | "loadRuns"
  | "loadEvents"
  | "claim"
  | "claimLimited"
  | "extendLeases"
  | "releaseLeases"
  | "recallJobs"
  | "postponeJob"
  | "finishJob"
  | "nextDueInMs"
  | "findWaits"
  | "saveApps"
  | "saveConnection"
  | "removeConnections"
  | "touchGateway"
  | "useToken";

export type FaultDirection = "to-gateway" | "to-worker";
/** Of a `kill`: before the commit of what a pass reports, or after it, before the worker learns of it. */
export type FaultMoment = "before-commit" | "after-commit";
/** With what a call is refused. */
export type FaultStatus = 400 | 401 | 403 | 404 | 409 | 413 | 500 | 503;

/** Where a fault about a worker's requests happens; what is left out limits nothing. */
export interface FaultRequestPlace {
  /** Id of a connection, or instance id of a worker. */
  readonly connection?: string;
  /** As in `shop-order`. */
  readonly function?: string;
  /** The step's id as its author wrote it; `id:1` for a repeat. */
  readonly step?: string;
  readonly run?: string;
}

/** Where a fault about frames happens. */
export interface FaultFramePlace extends FaultRequestPlace {
  readonly kind?: FaultFrameKind | readonly FaultFrameKind[];
  readonly direction?: FaultDirection;
}

/** How often a fault happens, and when. Durations are milliseconds. */
export interface FaultLimits {
  /** Of what fits, how much it happens to: 0 to 1. Default 1. */
  readonly probability?: number;
  /** How often it happens at most. Default: no limit. */
  readonly count?: number | null;
  /** How many that fit are left alone first. Default 0. */
  readonly after?: number;
  /** From when on, counted from now. Default 0. */
  readonly fromMs?: number;
  /** For how long from then. Default: until it is removed. */
  readonly forMs?: number | null;
  /** What is left to chance follows from it. Default: any; the answer says which. */
  readonly seed?: number;
}

interface HappensAtOnce {
  /** Again and again, so far apart. Default: once. */
  readonly everyMs?: number | null;
}

/** A fault that is asked for; docs/faults-on-request.md has an example of each. */
export type FaultRequest = FaultLimits &
  (
    | { readonly what: "drop" | "cut"; readonly where?: FaultFramePlace }
    | {
        readonly what: "delay";
        readonly where?: FaultFramePlace;
        readonly delayMs?: number;
        readonly jitterMs?: number;
      }
    | { readonly what: "duplicate"; readonly where?: FaultFramePlace; readonly copies?: number }
    | { readonly what: "reorder"; readonly where?: FaultFramePlace; readonly delayMs?: number }
    | { readonly what: "half-open"; readonly where?: FaultFramePlace; readonly delayMs?: number | null }
    | { readonly what: "close"; readonly where?: FaultFramePlace; readonly code?: number; readonly reason?: string }
    | { readonly what: "withhold-acks"; readonly where?: FaultRequestPlace }
    | { readonly what: "kill"; readonly where?: FaultRequestPlace; readonly moment?: FaultMoment }
    | { readonly what: "refuse-start"; readonly status?: FaultStatus }
    | { readonly what: "refuse-flush"; readonly where?: { readonly run?: string }; readonly status?: FaultStatus }
    | {
        readonly what: "slow-database";
        readonly where?: StorePlace;
        readonly delayMs?: number;
        readonly jitterMs?: number;
      }
    | { readonly what: "refuse-database" | "lose-answer"; readonly where?: StorePlace }
    | ({ readonly what: "expire-leases"; readonly where?: Omit<FaultRequestPlace, "step"> } & HappensAtOnce)
    | ({ readonly what: "kill-connection"; readonly where?: { readonly connection?: string } } & HappensAtOnce)
    | ({ readonly what: "skip-time"; readonly skipMs: number } & HappensAtOnce)
  );

interface StorePlace {
  readonly operation?: FaultOperation | readonly FaultOperation[];
}

/** A fault that was added, as the gateway lists it. */
export interface Fault {
  readonly id: string;
  readonly what: FaultKind;
  readonly seed: number;
  /** How many came by that it fits. */
  readonly fits: number;
  readonly happened: number;
  /** Its count or its time is used up: it happens no more. */
  readonly isOver: boolean;
}

/** Something that a fault did. */
export interface FaultThatHappened {
  readonly sequence: number;
  readonly at: string;
  readonly faultId: string;
  readonly what: FaultKind;
  /** In words. */
  readonly text: string;
  readonly connectionId: string | null;
  readonly functionId: string | null;
  readonly runId: string | null;
}
