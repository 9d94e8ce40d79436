import type { RunStatus } from "./run-status.ts";

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
  /** Rises in the order of writing, with gaps. */
  readonly seq: number;
  readonly atMs: number;
  /** What the run's head became with this row; null when the row did not touch it. */
  readonly headVersion: number | null;
  readonly headStatus: RunStatus | null;
}
