/**
 * The effects by which the dispatcher's parts say what follows from what they did; `Dispatcher.#apply` carries them out
 * (docs/decisions/0051).
 */
import type { RunState } from "@holdfast/engine";
import type { Fence, NewEvent, NewJob } from "@holdfast/store";
import type { ConnectedWorker } from "./workers/connected-worker.ts";
import type { Dispatch } from "./workers/dispatch.ts";

/** A job that was leased to this gateway on creation, for a worker whose place is reserved. */
export interface LeasedJob {
  readonly job: NewJob;
  readonly worker: ConnectedWorker;
}

/**
 * What follows from a commit for the rest of this gateway. The committing part emits the effects in the order in which
 * they are to be carried out; only the dispatcher carries them out.
 */
export type AfterCommit =
  /** Give these to their workers now. */
  | { readonly do: "DISPATCH"; readonly run: RunState; readonly jobs: readonly LeasedJob[] }
  /** Jobs of the function were made that no worker here took; the earliest is due in this long. */
  | { readonly do: "WAKE_QUEUE"; readonly functionId: string; readonly dueInMs: number }
  /** Places of this function's limits may be free again, here and at other gateways. */
  | { readonly do: "CAPACITY_FREED"; readonly functionId: string }
  /** These jobs are no more, though a worker may be at them, here or elsewhere. */
  | { readonly do: "CANCEL_JOBS"; readonly jobIds: readonly string[] }
  /** The step that invoked this run is to be notified of its end; the job for that is leased to this gateway. */
  | { readonly do: "NOTIFY_PARENT"; readonly runId: string; readonly jobId: string }
  /**
   * Runs that wait for the event are to be notified; the job for that is leased to this gateway, and has the event's
   * id.
   */
  | { readonly do: "NOTIFY_WAITERS"; readonly event: NewEvent }
  /** `mayRunElsewhere`: a worker of another gateway may be at one of its jobs. */
  | { readonly do: "RUN_ENDED"; readonly run: RunState; readonly mayRunElsewhere: boolean };

/** What follows for the rest of this gateway from what becomes of a request, or of a call. */
export type AfterRequest =
  /** A worker has room again. */
  | { readonly do: "WORKER_FREED" }
  /** Jobs became due, or may be claimed. */
  | { readonly do: "JOBS_DUE" }
  /** The run's state alone is more than a request can hold. */
  | {
      readonly do: "REQUEST_TOO_LARGE";
      readonly job: { readonly runId: string; readonly fence: Fence };
      readonly bytes: number;
    }
  /** A plain gateway has found no worker that acknowledges it. */
  | { readonly do: "REQUEST_UNACKNOWLEDGED"; readonly dispatch: Dispatch };

export type DispatcherEffect = AfterCommit | AfterRequest;
export type Emit<Effect> = (effect: Effect) => void;
