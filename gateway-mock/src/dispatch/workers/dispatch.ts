/** One request in flight: a job given to a worker under one epoch. */
import type { ClockReading } from "@holdfast/core";
import type { RunState } from "@holdfast/engine";
import type { RunningStep } from "@holdfast/protocol";
import type { Fence, JobKind } from "@holdfast/store";
import type { ConnectedWorker } from "./connected-worker.ts";
import { requestIdOf } from "./request-id.ts";

/** A request that a worker has, or had when its socket broke. */
export interface Dispatch {
  readonly requestId: string;
  readonly fence: Fence;
  readonly runId: string;
  readonly functionId: string;
  readonly appId: string;
  readonly inPlace: boolean;
  /** How many results its run had when it was sent. */
  recorded: number;
  /** How many waits that have ended since its worker was given. */
  given: number;
  /** Null while its instance has no socket. */
  worker: ConnectedWorker | null;
  /** Its instance has a socket at another gateway, which is to hear of it. */
  elsewhere: boolean;
  acked: boolean;
  /** From before the lease under which it is to be sent was asked for; see `lease-age.ts`. */
  leasedAt: ClockReading;
  /** Null while it waits for its lease, or for room on the worker's socket. */
  sentMs: number | null;
  /** The lease id it has and the one before, and whose they are: only a plain gateway asks. */
  lease: { readonly id: string; readonly before: string | null; readonly instanceId: string } | null;
  /** Last word about it from the worker, monotonic. */
  lastHeardMs: number;
  /** When the worker last asked to extend its lease, answered or not, monotonic. */
  lastAskedMs: number;
  /** When its socket was lost the last time; a grace that began with an earlier loss does not count any more. */
  lostMs?: number;
  /** What the worker said last of its steps that have been running for a while, and when that was, monotonic. */
  running?: { readonly steps: readonly RunningStep[]; readonly saidMs: number };
  /** Checkpoints whose commit is under way. */
  commits: number;
  onCommitsDone: (() => void) | null;
}

export interface JobToRun {
  readonly id: string;
  readonly runId: string;
  readonly kind: JobKind;
  readonly key: string;
  readonly functionId: string;
  readonly attempt: number;
}

interface DispatchTo extends Pick<Dispatch, "appId" | "inPlace" | "worker" | "leasedAt"> {
  /** Monotonic. */
  readonly heardMs: number;
}

/** A request that is about to be sent. */
export function newDispatch(fence: Fence, { runId, functionId }: JobToRun, to: DispatchTo): Dispatch {
  return {
    requestId: requestIdOf(fence),
    fence,
    runId,
    functionId,
    appId: to.appId,
    inPlace: to.inPlace,
    recorded: 0,
    given: 0,
    worker: to.worker,
    elsewhere: false,
    acked: false,
    leasedAt: to.leasedAt,
    sentMs: null,
    lease: null,
    lastHeardMs: to.heardMs,
    lastAskedMs: 0,
    commits: 0,
    onCommitsDone: null,
  };
}

/** `leasedAt`: from before the lease was asked for. */
export type StartRequest = (
  job: JobToRun,
  epoch: number,
  worker: ConnectedWorker,
  state: RunState,
  leasedAt: ClockReading,
) => void;
