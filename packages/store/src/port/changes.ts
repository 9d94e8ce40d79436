/**
 * What runs write to their logs, as it becomes visible: live streams (gateway-mock/src/live) are made from it. A position
 * says exactly which rows came before it, also those that are committed late (docs/decisions/0080).
 */
import type { LogRow, RunStatus } from "./work.ts";

/**
 * A place between the rows of all logs, in the order in which they became visible. Text that only the store reads; any
 * gateway of its database does, so a reader can go on elsewhere.
 */
export type LogPosition = string;

export interface StoreChanges {
  /** After all that is visible now. What is committed later, whatever its numbers, comes after it. */
  logEnd(): Promise<LogPosition>;
  /** Before everything. To be used with `runIds` only: what ended long ago is not found in any other way. */
  readonly logStart: LogPosition;
  /**
   * Rows that became visible after a position, those of one run in the order of writing: every row once, however it is
   * read in pages. What is not before `until` is left out.
   * @throws HoldfastError `POSITION_INVALID` when it is no position, or one of another database
   */
  readChanges(request: ChangeRequest): Promise<ChangePage>;
}

export interface ChangeRequest {
  readonly after: LogPosition;
  /** Default: what is visible now. Must be a position of this store that was made after `after`. */
  readonly until?: LogPosition;
  readonly scope: ChangeScope;
  /** Rows, 1 to 1000. */
  readonly limit: number;
}

/** Which runs: these, and those of these functions; null = all. */
export interface ChangeScope {
  readonly runIds: readonly string[];
  readonly functionIds: readonly string[] | null;
}

/** A row of a run's log: what one write added. */
export interface LogChange {
  readonly runId: string;
  readonly functionId: string;
  /** As `seq` of `StoredLogRow`. */
  readonly seq: number;
  readonly atMs: number;
  /** What the run's head became with it; null when the row did not touch it. */
  readonly status: RunStatus | null;
  readonly facts: readonly ChangeFact[];
  /** Right after this row. */
  readonly position: LogPosition;
}

/** A fact whose data is left out (null) where its row has more than `MAX_CHANGE_BYTES`. */
export interface ChangeFact extends Omit<LogRow, "dataJson"> {
  readonly dataJson: string | null;
}

export const MAX_CHANGE_BYTES = 16 * 1024;

export interface ChangePage {
  readonly changes: readonly LogChange[];
  /** After the page, also where it is empty. */
  readonly position: LogPosition;
  /** Nothing is left before `until`. */
  readonly isEnd: boolean;
  /** The position is so old that what came after it cannot be found in reasonable time: nothing was read. */
  readonly isTooOld: boolean;
}
