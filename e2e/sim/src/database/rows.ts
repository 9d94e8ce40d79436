import type { JobKind, LogRow, NewEvent, RunHead, StoredLogRow, StoredWait } from "@holdfast/store";

/** Rows of the model's tables. */

export interface JobRow {
  readonly id: string;
  readonly runId: string;
  readonly kind: JobKind;
  readonly key: string;
  readonly functionId: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly priority: number;
  epoch: number;
  availableMs: number;
  leasedBy: string | null;
  claimedMs: number | null;
  readonly createdMs: number;
  lost: boolean;
  /** "" = no limits. */
  lane: string;
  readonly slotA: string | null;
  readonly slotB: string | null;
  throttle: string | null;
  /** No worker has had it: since when a place is looked for, and for which version of its app. */
  unplacedSinceMs: number | null;
  wantedVersion: string | null;
}

export interface RunRow {
  head: RunHead;
  readonly log: StoredLogRow[];
  readonly keys: Map<string, StoredLogRow>;
  readonly jobs: Set<JobRow>;
  readonly waits: Map<string, StoredWait>;
}

export interface EventRow {
  readonly event: NewEvent;
  runIds: readonly string[];
  readonly receivedMs: number;
}

/** A job as a claim gave it out. */
export interface Taken {
  readonly job: JobRow;
  readonly lost: boolean;
  readonly dueMs: number;
  readonly unplacedMs: number | null;
}

/** What watches the tables. */
export interface TableWatch {
  /** A transaction changed these runs. */
  changed(runIds: ReadonlySet<string>): void;
  logged(runId: string, row: StoredLogRow): void;
  dispatched(job: JobRow): void;
  /** A decision removes work that someone holds, and that it is not about. */
  takenAway(job: JobRow): void;
  /** A write under an epoch that was given out again meanwhile counted. */
  wroteUnder(job: JobRow, epoch: number): void;
  /** A run was made. */
  created(head: RunHead): void;
}

export const NO_WATCH: TableWatch = {
  changed: () => {},
  logged: () => {},
  dispatched: () => {},
  takenAway: () => {},
  wroteUnder: () => {},
  created: () => {},
};

/** The database's clock. */
export type Now = () => number;

export const jobKey = ({ runId, kind, key }: Pick<JobRow, "runId" | "kind" | "key">): string =>
  `${runId}\n${kind}\n${key}`;

export const rowKey = ({ kind, key, attempt, iteration }: Pick<LogRow, "kind" | "key" | "attempt" | "iteration">) =>
  `${kind}\n${key}\n${attempt}\n${iteration}`;

/** The order of claims: each unit of priority counts as one second. */
export const placeOf = ({ availableMs, priority }: Pick<JobRow, "availableMs" | "priority">): number =>
  availableMs - priority * 1000;

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
