/** Which faults there are, at which edge of the gateway each happens, and which fields each takes. Pure. */
import { EXTENSION_OF_FRAME, type WorkerFrame } from "@holdfast/protocol";
import type { FaultFrameKind, FaultKind, FaultOperation } from "./fault-request.ts";

export type { FaultKind } from "./fault-request.ts";

/** Where a fault happens: at a frame, at an HTTP call of a worker, at a call of the store, or at once. */
export type FaultEdge = "frame" | "start" | "flush" | "store" | "now";

export type FaultWhere = "kind" | "direction" | "connection" | "function" | "step" | "run" | "operation";
export type FaultSetting = "delayMs" | "jitterMs" | "copies" | "code" | "reason" | "moment" | "status" | "skipMs";

interface KindRow {
  readonly edge: FaultEdge;
  readonly where: readonly FaultWhere[];
  readonly settings: readonly FaultSetting[];
  /** What it does, in words that complete "This fault ...". */
  readonly does: string;
}

const OF_FRAMES = ["kind", "direction", "connection", "function", "step", "run"] as const;
const OF_REQUESTS = ["connection", "function", "run"] as const;

export const FAULT_KINDS = {
  drop: { edge: "frame", where: OF_FRAMES, settings: [], does: "loses frames" },
  delay: {
    edge: "frame",
    where: OF_FRAMES,
    settings: ["delayMs", "jitterMs"],
    does: "holds frames up for `delayMs` and up to `jitterMs` more; what follows them waits behind them",
  },
  duplicate: { edge: "frame", where: OF_FRAMES, settings: ["copies"], does: "passes frames on several times" },
  reorder: {
    edge: "frame",
    where: OF_FRAMES,
    settings: ["delayMs"],
    does: "holds frames back until the next one has overtaken them, `delayMs` at most",
  },
  cut: { edge: "frame", where: OF_FRAMES, settings: [], does: "resets the connection at a frame, which is lost" },
  "half-open": {
    edge: "frame",
    where: OF_FRAMES,
    settings: ["delayMs"],
    does: "lets nothing through from a frame on, in neither direction, while the socket stays open; for `delayMs`, or until it ends",
  },
  close: {
    edge: "frame",
    where: OF_FRAMES,
    settings: ["code", "reason"],
    does: "closes the connection with a code at a frame, which is lost",
  },
  "withhold-acks": {
    edge: "frame",
    where: ["connection", "function", "step", "run"],
    settings: [],
    does: "loses the gateway's acknowledgements of replies, checkpoints and lease extensions",
  },
  kill: {
    edge: "frame",
    where: ["connection", "function", "step", "run"],
    settings: ["moment"],
    does: "ends a pass before or after what it reports is committed, as the end of its process would, and gives its work out again",
  },
  "refuse-start": { edge: "start", where: [], settings: ["status"], does: "refuses the calls that open connections" },
  "refuse-flush": {
    edge: "flush",
    where: ["run"],
    settings: ["status"],
    does: "refuses replies that workers send over HTTP",
  },
  "slow-database": {
    edge: "store",
    where: ["operation"],
    settings: ["delayMs", "jitterMs"],
    does: "makes the engine wait for the database",
  },
  "refuse-database": {
    edge: "store",
    where: ["operation"],
    settings: [],
    does: "fails calls of the engine to the database, before anything has changed",
  },
  "lose-answer": {
    edge: "store",
    where: ["operation"],
    settings: [],
    does: "does what the engine asked of the database, and says that it failed",
  },
  "expire-leases": {
    edge: "now",
    where: OF_REQUESTS,
    settings: [],
    does: "ends the leases of work in progress, so that it is given out again",
  },
  "kill-connection": { edge: "now", where: ["connection"], settings: [], does: "resets connections of workers" },
  "skip-time": { edge: "now", where: [], settings: ["skipMs"], does: "moves time on, with virtual time" },
} as const satisfies Readonly<Record<FaultKind, KindRow>>;

export const FAULT_NAMES = Object.keys(FAULT_KINDS) as FaultKind[];
export const edgeOf = (kind: FaultKind): FaultEdge => FAULT_KINDS[kind].edge;

export type WireKind = FaultFrameKind;
export type StoreOperation = FaultOperation;

/** Complete by its type. */
const WORKER_KINDS: Readonly<Record<WorkerFrame["kind"], true>> = {
  WORKER_CONNECT: true,
  WORKER_READY: true,
  WORKER_REQUEST_ACK: true,
  WORKER_REPLY: true,
  WORKER_PAUSE: true,
  WORKER_HEARTBEAT: true,
  WORKER_REQUEST_EXTEND_LEASE: true,
  WORKER_STATUS: true,
  WORKER_CHECKPOINT: true,
  WORKER_REQUEST_NACK: true,
  WORKER_STALL: true,
  WORKER_STATE: true,
  WORKER_MAIN_PAUSE: true,
  WORKER_MAIN_READY: true,
};
const KINDS: Readonly<Record<WireKind, unknown>> = { ...WORKER_KINDS, ...EXTENSION_OF_FRAME };

export const WIRE_KINDS = Object.keys(KINDS) as WireKind[];
export const ACK_KINDS: readonly WireKind[] = [
  "WORKER_REPLY_ACK",
  "GATEWAY_CHECKPOINT_ACK",
  "WORKER_REQUEST_EXTEND_LEASE_ACK",
];

/** Methods of the store that faults reach: those by which the engine moves runs on. */
export const STORE_OPERATIONS: readonly StoreOperation[] = [
  "commit",
  "intake",
  "loadRuns",
  "loadEvents",
  "claim",
  "claimLimited",
  "extendLeases",
  "releaseLeases",
  "recallJobs",
  "postponeJob",
  "finishJob",
  "nextDueInMs",
  "findWaits",
  "saveApps",
  "saveConnection",
  "removeConnections",
  "touchGateway",
  "useToken",
];
