/**
 * What the reasons for which runs wait are read from: open runs with their jobs and the facts about what they wait for,
 * what takes the places that they want, and runs that nothing moves on. Only people ask, and a sweep that counts.
 */
import type { OpenWindow, StoredWait } from "./events.ts";
import type { JobView } from "./reads.ts";
import type { LogKind, LogRow, RunHead } from "./work.ts";

/** A job of an open run, with what decides when it may start. */
export interface OpenJob extends JobView {
  readonly iteration: number;
  readonly priority: number;
  /** What it occupies while it is leased, in the order of its function's limits. */
  readonly slots: readonly string[];
  /** What its first start is paced by. */
  readonly throttle: string | null;
  /** It was put off until a worker of this version has room. */
  readonly wantedVersion: string | null;
}

/** Facts that say what a run waits for. The data of one that is longer than `MAX_WAITING_FACT` is left out: `{}`. */
export const WAITING_KINDS = [
  "RUN_CREATED",
  "STEP_PLANNED",
  "STEP_WAITING",
  "STEP_ATTEMPT_FAILED",
  "PASS_FAILED",
  "PINNED",
  "STALLED",
  "COMMITS_LOST",
] as const satisfies readonly LogKind[];

export const MAX_WAITING_FACT = 32_768;

export interface WaitingFact extends LogRow {
  readonly seq: number;
  readonly atMs: number;
}

/** A run that has not ended. */
export interface OpenRun {
  readonly head: RunHead;
  /** In the order in which they are due. */
  readonly jobs: readonly OpenJob[];
  readonly waits: readonly StoredWait[];
  /** Of `WAITING_KINDS`, in the order of writing. Of RUN_CREATED only the field `run` is there. */
  readonly facts: readonly WaitingFact[];
}

/** The place of a job in the order of claims of its function: of two that are due at the same time by their ids. */
export interface QueuePlace {
  /** How many due jobs come first, at most `MAX_AHEAD`. */
  readonly ahead: number;
  /** Those among them whose start is paced by the same throttle; what has started is not paced again. */
  readonly pacedAhead: number;
}

export interface PlacesAsked {
  readonly slots: readonly string[];
  readonly throttles: readonly { readonly functionId: string; readonly key: string }[];
  /**
   * Ids of jobs that no worker has. When they are due is not asked with them: a number of milliseconds is not as exact as
   * the store is, and jobs that were made together differ by less, or by their ids alone.
   */
  readonly ahead: readonly string[];
  /** Functions of which it is asked when a worker was there last. */
  readonly functionIds: readonly string[];
}

/** Jobs before a place are counted up to here. */
export const MAX_AHEAD = 1_000;

export interface SlotUse {
  /** How many places are taken. */
  readonly taken: number;
  /** Who has had one for the longest time. */
  readonly oldest: { readonly runId: string; readonly claimedMs: number } | null;
}

/** What takes the places: each list is in the order in which it was asked. */
export interface PlacesTaken {
  readonly slots: readonly SlotUse[];
  /** When the next start would be due at an even pace; null = nothing is paced. */
  readonly throttles: readonly (number | null)[];
  readonly ahead: readonly QueuePlace[];
  /** When a deployment that has the function was last seen connected, as precisely as gateways note it; null = never. */
  readonly seenMs: readonly (number | null)[];
}

/** Runs of a function that are named of those whose work is overdue. */
export const OVERDUE_NAMED = 10;

/** Work of one function that has been due for a while: no worker has had it, or its lease has ended. */
export interface OverdueWork {
  readonly functionId: string;
  /** How many runs have such work, counted up to `MAX_AHEAD`. */
  readonly count: number;
  /** Those that have waited longest among them, at most `OVERDUE_NAMED`, the oldest first. */
  readonly runs: readonly { readonly runId: string; readonly dueMs: number }[];
}

/** A page of all runs, the newest first. */
export interface UnmovedPage {
  /** Runs that have not ended and that neither a job nor a wait moves on. */
  readonly runIds: readonly string[];
  /** How many runs were looked at. */
  readonly looked: number;
  /** Null: that was the oldest. */
  readonly nextCursor: string | null;
}

/** Windows that are read at a time. */
export const MAX_OPEN_WINDOWS = 1_000;

export interface WaitingReads {
  /** Those among `runIds` that exist and have not ended. */
  openRuns(runIds: readonly string[]): Promise<readonly OpenRun[]>;
  placesTaken(asked: PlacesAsked): Promise<PlacesTaken>;
  /**
   * Work for workers that has been due for at least `dueForMs`, by function, in the order of `functionIds`; of what was put
   * off until a worker of its version has room, counted from when it was made. Reads few rows of a long queue.
   */
  overdueWork(asked: {
    readonly functionIds: readonly string[];
    readonly dueForMs: number;
  }): Promise<readonly OverdueWork[]>;
  /**
   * Windows of these functions that collect events, or of which a run is about to be made: by function, kind and key, at
   * most `MAX_OPEN_WINDOWS`.
   */
  openWindows(functionIds: readonly string[]): Promise<readonly OpenWindow[]>;
  /**
   * Looks for runs that nothing moves on among `limit` runs before `cursor`. Timers that only end a run (its deadline,
   * its timeouts) do not move it on.
   */
  unmovedRuns(page: { readonly limit: number; readonly cursor?: string }): Promise<UnmovedPage>;
}
