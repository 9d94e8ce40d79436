/**
 * Jobs that do something with many runs (docs/decisions/0093): what they are to do, how far they are, and the pages of
 * runs that they look at.
 */
import type { Fence, NewJob, RunStatus } from "./work.ts";

export const BULK_ACTIONS = ["cancel", "rerun", "resume", "delete"] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];

export interface BulkFilter {
  readonly environment: string;
  /** Of one of these, as people see it. */
  readonly status: readonly RunStatus[];
  readonly functionId?: string;
  readonly eventName?: string;
  /** Of one of these events; of none of them: none. */
  readonly eventIds?: readonly string[];
  /** Of the graph with this uid. */
  readonly graphUid?: string;
  /** Somewhere in what they failed with, as JSON has it, in letters of any size. */
  readonly errorText?: string;
  /** None of which another run was made, a rerun or a fork; runs whose ids begin like this do not count for that. */
  readonly notAgain?: string;
  /** Created at this time or later; before that one. */
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
}

export interface NewBulkJob {
  /** ULID; also the key of its job in the queue. */
  readonly id: string;
  readonly action: BulkAction;
  readonly filter: BulkFilter;
  /** Of reruns and resumed runs, as the caller named it; "" = the newest. */
  readonly appVersion: string;
  /** How many runs fitted when it was made; null: more than were counted. */
  readonly total: number | null;
}

/**
 * No run has a higher id: where jobs begin. Ids have the clocks of gateways, which may be ahead; which runs were there
 * before a job is said by its filter.
 */
export const NEWEST_RUN = "Z".repeat(26);

export interface BulkProgress {
  /** Runs with this id and later ones have been looked at. */
  readonly beforeId: string;
  readonly done: number;
  /** A singleton or a rate limit held the new run back; or the run had changed meanwhile. */
  readonly skipped: number;
  readonly failed: number;
  /** The first few failures, one sentence each. */
  readonly errors: readonly string[];
  /** Runs that are looked at now: what was done to them is counted when that is over. */
  readonly chunk: readonly string[];
}

export type BulkStatus = "RUNNING" | "DONE" | "STOPPED";

export interface BulkJob extends NewBulkJob, BulkProgress {
  readonly status: BulkStatus;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly endedMs: number | null;
}

export interface BulkPage {
  /** Ids of the runs that fit, the newest first. */
  readonly runIds: readonly string[];
  /** How many fit beside these, but for `notAgain`. */
  readonly leftOut: number;
  /** Null: these were the last. */
  readonly nextBeforeId: string | null;
}

export interface StoreBulk {
  /** Stores it together with its job in the queue. Once: an id that is there changes nothing. */
  createBulkJob(bulk: NewBulkJob, job: NewJob): Promise<void>;
  loadBulkJob(id: string): Promise<BulkJob | null>;
  /** Of this environment, the newest first. */
  listBulkJobs(environment: string, limit: number): Promise<readonly BulkJob[]>;
  /**
   * Notes how far it is, or that it is over; false when it was stopped, or when its job in the queue is no longer this
   * dispatch: then nothing is written.
   */
  saveBulkProgress(id: string, fence: Fence, progress: BulkProgress, isOver: boolean): Promise<boolean>;
  /** False: it was over. */
  stopBulkJob(id: string): Promise<boolean>;
  /** Looks at `limit` runs with ids before that one, whatever fits of them: as much work for each page. */
  bulkPage(filter: BulkFilter, beforeId: string, limit: number): Promise<BulkPage>;
}
