import type { StoredLogRow } from "./log.ts";
import type { RunStatus } from "./run-status.ts";

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
