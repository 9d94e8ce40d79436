/** What is in use of limits and schedules. Only people ask; nothing is decided by it. */

/** A job of a function with limits. */
export interface LimitedJob {
  readonly runId: string;
  readonly functionId: string;
  /** What it occupies while it is leased, in the order of its function's limits. */
  readonly slots: readonly string[];
  /** What its first start is paced by; null once it has started. */
  readonly throttle: string | null;
  /** When it was claimed, or since when it is due. */
  readonly sinceMs: number;
}

/** Jobs that have their places, and jobs that wait, are read up to here for each function. */
export const MAX_LIMITED_JOBS = 300;

export interface LimitUse {
  readonly nowMs: number;
  /** They have their places: by function, those that have them for the longest time first. */
  readonly held: readonly LimitedJob[];
  /** They are due: by function, in the order of claims. */
  readonly waiting: readonly LimitedJob[];
  /** Throttles that are not back at their full pace; `atMs` is when the next start would be due at an even pace. */
  readonly paced: readonly { readonly functionId: string; readonly key: string; readonly atMs: number }[];
}

/** Schedules that are read at a time. */
export const MAX_LISTED_CRONS = 1_000;

export interface ListedCron {
  /** Of a graph the name that `graphOfCron` reads. */
  readonly functionId: string;
  readonly cron: string;
  /** The tick that comes next. */
  readonly tickMs: number;
  /** When its job is due, with what jitter or a pause has added; null: it has none. */
  readonly dueMs: number | null;
}

export interface LimitReads {
  limitUse(functionIds: readonly string[]): Promise<LimitUse>;
  /** By function and schedule, at most `MAX_LISTED_CRONS`. */
  listCrons(): Promise<readonly ListedCron[]>;
}
