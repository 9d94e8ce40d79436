import type { ClaimLimits, Lane } from "./lane.ts";
import type { StoredRun } from "./run.ts";

/**
 * `timer` and `fetch` (an HTTP call that the gateway makes for a step) belong to a run but need no worker. `event` and
 * `child` belong to none: they tell those who wait for the event, or for the end of the run, that `key` names.
 */
export type JobKind =
  | "pass"
  | "step"
  | "timer"
  | "fetch"
  | "event"
  | "child"
  /** Of a run: it is cancelled if it has not started by then. */
  | "start"
  /** Of no run: a window is over; a schedule's tick; a run is to be cancelled for another one. */
  | "window"
  | "cron"
  | "cancel";

export interface NewJob {
  readonly id: string;
  /** "" for jobs that belong to no run. */
  readonly runId: string;
  readonly kind: JobKind;
  /** "" for a pass, the step's hashed id otherwise. A second job of one (run, kind, key) is not made. */
  readonly key: string;
  /** "" for what any gateway may claim, because no worker is needed. */
  readonly functionId: string;
  readonly attempt: number;
  readonly iteration: number;
  /** Goes first as if due so many seconds earlier; default 0. */
  readonly priority?: number;
  /** Due this long after now; default 0. */
  readonly delayMs?: number;
  /** Not due before this instant (with `delayMs`: the later of the two). */
  readonly notBeforeMs?: number | null;
  /** Of functions with limits. Such a job is never leased on creation. */
  readonly lane?: Lane | null;
  /** Leased on creation: epoch 1 instead of 0, due when the lease ends. */
  readonly lease?: { readonly gatewayId: string; readonly leaseMs: number } | null;
}

export interface Fence {
  readonly jobId: string;
  readonly epoch: number;
}

export interface ClaimRequest {
  readonly gatewayId: string;
  /** Of the registry that the wants rest on. Rejected (`isOutdated`) when the store's is another one by now. */
  readonly registryVersion?: number;
  readonly leaseMs: number;
  /** "" = timers. Each function at most once. */
  readonly wants: readonly { readonly functionId: string; readonly limit: number; readonly leaseMs?: number }[];
}

export interface ClaimedJob {
  readonly id: string;
  readonly runId: string;
  readonly kind: JobKind;
  readonly key: string;
  readonly functionId: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly priority: number;
  readonly epoch: number;
  readonly leaseUntilMs: number;
  readonly dueSinceMs: number;
  /** For how long a place has been looked for in vain, of a job that no worker has had; null: one may have had it. */
  readonly unplacedMs: number | null;
  /** Whether a lease of it had ended without a result. */
  readonly lost: boolean;
  /** Null for jobs that belong to no run. */
  readonly run: StoredRun | null;
}

export interface LeaseExtension extends Fence {
  readonly gatewayId: string;
  readonly leaseMs: number;
  /** With these two a lease that was returned is taken up again only where its function's limits leave a place. */
  readonly functionId?: string;
  readonly limits?: ClaimLimits | null;
  /** The lease goes on under the next epoch: as if claimed again, for another worker. */
  readonly next?: boolean;
}

export interface LeaseRelease extends Fence {
  /** True when the work was lost (its worker went away): the next claim then records `LEASE_LOST`. */
  readonly lost: boolean;
  readonly heldBy?: string;
  /** Put off: not due again for so long, unless `recallJobs` asks for it. */
  readonly holdMs?: number;
  /** No worker has had it: for how long a place has been looked for, and the version of its app that it waits for now. */
  readonly unplaced?: { readonly sinceMs: number; readonly version: string };
}
