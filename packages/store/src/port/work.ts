/**
 * Work as the store has it: runs with head and log, the queue's jobs, their lanes and limits, and what claims, extends
 * and ends leases. packages/engine decides on these values, `../rules` says what a store does with them.
 */

import type { GraphRunMark } from "./graph-names.ts";
import type { RunOrigin } from "./repair.ts";

export const RUN_STATUSES = ["PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"] as const;

export type RunStatus = (typeof RUN_STATUSES)[number];

/** A run to be made: version 1, status PENDING (RUNNING when one of its jobs is leased on creation). */
export interface NewRun {
  readonly id: string;
  readonly functionId: string;
  readonly appId: string;
  /** The version of the app that is to run it; "" when unknown. */
  readonly appVersion: string;
  /** The (first) event that triggered it, for lists; the payloads are in the RUN_CREATED row. */
  readonly eventId: string;
  readonly eventName: string;
  readonly deadlineMs?: number | null;
  /** The run that it is made of. */
  readonly origin?: RunOrigin;
  /** The graph that it is made of. */
  readonly graph?: GraphRunMark;
}

/** Changes of a run's head. Fields left out stay. `startedAt` and `endedAt` follow from the status. */
export interface HeadPatch {
  readonly status: RunStatus;
  /** With COMPLETED. */
  readonly outputJson?: string;
  /** With FAILED and CANCELLED. */
  readonly errorJson?: string;
  readonly appVersion?: string;
  readonly deadlineMs?: number | null;
}

export interface RunHead {
  readonly id: string;
  readonly functionId: string;
  readonly appId: string;
  readonly appVersion: string;
  /** As stored. Reads for people (`listRuns`, `getRun`) show RUNNING while a pass or step is leased. */
  readonly status: RunStatus;
  readonly version: number;
  readonly eventId: string;
  readonly eventName: string;
  readonly deadlineMs: number | null;
  readonly outputJson: string | null;
  readonly errorJson: string | null;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
}

export interface StoredRun {
  readonly head: RunHead;
  readonly log: readonly StoredLogRow[];
}

export const LOG_KINDS = [
  "RUN_CREATED",
  "DISPATCHED",
  "STEP_PLANNED",
  "STEP_BEGUN",
  "STEP_WAITING",
  "STEP_COMPLETED",
  "STEP_ATTEMPT_FAILED",
  "STEP_FAILED",
  "PASS_FAILED",
  "PASS_REPORTED",
  "LEASE_LOST",
  "TIMER_FIRED",
  "PINNED",
  "STALLED",
  "DEFERRED",
  "DEFER_ABORTED",
  "RUN_COMPLETED",
  "RUN_FAILED",
  "RUN_CANCELLED",
  "RUN_REVIVED",
  "COMMITS_LOST",
] as const;

export type LogKind = (typeof LOG_KINDS)[number];

/** One fact of a run. Unique on (run, key, kind, attempt, iteration): the first one written stays. */
export interface LogRow {
  readonly kind: LogKind;
  /** Hashed step id, or "" for the run itself. */
  readonly key: string;
  /** Zero-based. */
  readonly attempt: number;
  readonly iteration: number;
  readonly dataJson: string;
}

export interface StoredLogRow extends LogRow {
  /** Rises in the order of writing, with gaps. Facts that were written together have the same. */
  readonly seq: number;
  readonly atMs: number;
  /** What the run's head became with this row; null when the row did not touch it. */
  readonly headVersion: number | null;
  readonly headStatus: RunStatus | null;
}

/** Jobs of one lane share all their limits. */
export interface Lane {
  /**
   * Hexadecimal digits, the same for the same slots; then, with a throttle, "~" and what distinguishes it from other
   * throttles. What comes after "~" is dropped with the first start.
   */
  readonly id: string;
  /** What the job occupies while it is leased: at most two. */
  readonly slots: readonly string[];
  /** What the job's first start is paced by. */
  readonly throttle: string | null;
}

/** Jobs of a function that its limits have come to concern, or concern otherwise than when they were made. */
export interface LaneAdoption {
  readonly functionId: string;
  /** Of all its jobs; null: the lane of a job depends on its event, so that those in no lane get one without limits. */
  readonly lane: Lane | null;
}

export interface LanesAdopted {
  /** Jobs that are in the lanes of their functions now, and were not before. */
  readonly moved: number;
  /** Functions of which there may be more. */
  readonly left: readonly string[];
}

/** The limits of a function's lanes, as they are now. */
export interface ClaimLimits {
  /** How many jobs may be leased at once per value of the first and of the second slot. */
  readonly slots: readonly number[];
  /** `burst` starts at once, then one each `everyMs`. */
  readonly throttle: { readonly everyMs: number; readonly burst: number } | null;
  /** Slots are shared with other functions. */
  readonly shared: boolean;
}

/**
 * `timer` and `fetch` (an HTTP call that the gateway makes for a step) belong to a run but need no worker. `event` and
 * `child` belong to none: they notify the waits for the event, or for the end of the run, that `key` names. `earlier`
 * belongs to none: it looks for an event that came before a wait began; `key` names run and step.
 */
export type JobKind =
  | "pass"
  | "step"
  | "timer"
  | "fetch"
  | "event"
  | "child"
  | "earlier"
  /** Of a run: it is cancelled if it has not started by then. */
  | "start"
  /** Of no run: a window is over; a schedule's tick; a run is to be cancelled for another one. */
  | "window"
  | "cron"
  | "cancel"
  /** Of no run: a bulk job goes on. */
  | "bulk";

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
  /**
   * By the database's clock; rejected (`isOutdated`) when it is later: while a database is paused no lease can be
   * extended, so those that ended meanwhile say nothing of their workers. Default: it may be any time.
   */
  readonly notAfterMs?: number;
  readonly leaseMs: number;
  /** "" = timers. Each function at most once. `room`: the index of one of `rooms`. */
  readonly wants: readonly {
    readonly functionId: string;
    readonly limit: number;
    readonly leaseMs?: number;
    readonly room?: number;
  }[];
  /** At most so many jobs of all wants that share the room together: those that are first in order. */
  readonly rooms?: readonly number[];
  /** Whether the caller has the run that this timer belongs to, and needs it not read. Asked once they are leased. */
  readonly hasRunOf?: (timer: { readonly id: string; readonly runId: string }) => boolean;
}

/** A start that a throttle has counted. */
export interface Paced {
  /** The lane that the job waited in. */
  readonly lane: string;
  readonly throttle: string;
  readonly everyMs: number;
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
  /** What its start has been paced by, when this claim starts it. */
  readonly paced: Paced | null;
  /** Null for jobs that belong to no run, and for timers of runs that the caller has (`hasRunOf`). */
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
  /**
   * No worker has had it: for how long a place has been looked for, and the version of its app that it waits for now.
   */
  readonly unplaced?: { readonly sinceMs: number; readonly version: string };
  /** It was claimed, and not started: its throttle does not count it, and paces it again. */
  readonly paced?: Paced | null;
}

export interface LimitedClaimRequest {
  readonly gatewayId: string;
  /** As `ClaimRequest` has it. */
  readonly registryVersion?: number;
  /** As `ClaimRequest` has it. */
  readonly notAfterMs?: number;
  readonly wants: readonly {
    readonly functionId: string;
    readonly limit: number;
    readonly leaseMs: number;
    readonly limits: ClaimLimits;
    readonly room?: number;
  }[];
  /** As `ClaimRequest` has it, except that the wants are served one after the other. */
  readonly rooms?: readonly number[];
}

export interface LimitedClaim {
  readonly jobs: readonly ClaimedJob[];
  /** Functions of which due jobs are left; without those of which none was looked at for want of room. */
  readonly blocked: readonly string[];
  readonly retryInMs: number | null;
}

/** Jobs that were put off: for one version of their app; with null those that no worker has had yet, for whichever. */
export interface RecallWant {
  readonly functionId: string;
  readonly appVersion: string | null;
  readonly limit: number;
}
