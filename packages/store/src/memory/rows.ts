/** The rows of the memory store's tables, and the order and keys in which they are found. */
import type { NewEvent, StoredWait } from "../port/events.ts";
import type { RunHold } from "../port/retention.ts";
import type { JobKind, LogRow, Paced, RunHead, StoredLogRow } from "../port/work.ts";

/** Rows of the memory store's tables. */

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
  /** The last claim within limits that took it. */
  claimId: string | null;
  readonly createdMs: number;
  lost: boolean;
  /** "" = no limits. */
  lane: string;
  slotA: string | null;
  slotB: string | null;
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
  readonly waits: Map<string, WaitRow>;
  hold: RunHold | null;
}

export interface WaitRow extends StoredWait {
  /** Of the transaction that made it; see `TableClock`. */
  readonly order: number;
}

export interface EventRow {
  readonly event: NewEvent;
  runIds: readonly string[];
  readonly receivedMs: number;
  /** Of the transaction that stored it. */
  readonly order: number;
}

/** A job as a claim gave it out. */
export interface Taken {
  readonly job: JobRow;
  readonly lost: boolean;
  readonly dueMs: number;
  readonly unplacedMs: number | null;
  readonly paced?: Paced | null;
}

export interface TableClock {
  /** Milliseconds since the epoch, whole. */
  nowMs(): number;
  /** Says which of two transactions came first; equal where that does not matter. A clock of milliseconds cannot. */
  order(): number;
}

/** What the tables report while they are written. The simulation's oracle listens. */
export interface TableWatch {
  /** A transaction changed these runs. */
  changed(runIds: ReadonlySet<string>): void;
  logged(runId: string, row: StoredLogRow): void;
  /** `isMoved`: its lease goes on with the worker that has the work, under the next epoch. */
  dispatched(job: JobRow, isMoved?: boolean): void;
  /** No worker has had it: its start is paced again. */
  unstarted(job: JobRow): void;
  created(head: RunHead): void;
}

export const NO_WATCH: TableWatch = {
  changed: () => {},
  logged: () => {},
  dispatched: () => {},
  unstarted: () => {},
  created: () => {},
};

export const jobKey = ({ runId, kind, key }: Pick<JobRow, "runId" | "kind" | "key">): string =>
  `${runId}\n${kind}\n${key}`;

export const rowKey = ({ kind, key, attempt, iteration }: Pick<LogRow, "kind" | "key" | "attempt" | "iteration">) =>
  `${kind}\n${key}\n${attempt}\n${iteration}`;

/** The order of claims: each unit of priority counts as one second. */
export const placeOf = ({ availableMs, priority }: Pick<JobRow, "availableMs" | "priority">): number =>
  availableMs - priority * 1000;

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
