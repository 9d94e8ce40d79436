/**
 * How long what has ended is kept, and what people may ask about that: holds, what would go, how large the tables are.
 * `../rules/retention.ts` says what goes; a store may remove it late, but never sooner.
 */

/** For how long a run is kept after it has ended; null = without end. CANCELLED counts as completed. */
export interface Retention {
  readonly completedMs: number | null;
  readonly failedMs: number | null;
}

/** That of all functions, and of those that have their own. Events without runs are kept as completed runs are. */
export interface RetentionPolicy extends Retention {
  readonly functions: ReadonlyMap<string, Retention>;
}

export interface PruneOptions {
  /** For about how long it may go on. */
  readonly limitMs?: number;
  /** Looks again wherever it was looked before this time of the database; else where that is a while ago. */
  readonly sinceMs?: number;
}

export interface PruneProgress {
  /**
   * - `done`: nothing more goes now. `more`: there is more to do; call it again.
   * - `busy`: another gateway is at it. `blocked`: a long transaction is in the way; it is tried again later.
   */
  readonly state: "done" | "more" | "busy" | "blocked";
  readonly removedRuns: number;
  readonly removedEvents: number;
}

export interface PrunePreview {
  readonly runs: number;
  readonly events: number;
  /** What they take; an estimate. */
  readonly bytes: number;
  /** When the oldest run was created that stays; null = none does. */
  readonly oldestRunMs: number | null;
}

/** A run that is kept until it is released. */
export interface RunHold {
  readonly heldMs: number;
  readonly reason: string;
}

/** Estimates: what the catalogue of a database says. */
export interface TableSize {
  readonly table: string;
  readonly bytes: number;
  readonly rows: number;
  readonly partitions: number;
  /** When its oldest row was made; null = unknown, or there is none. */
  readonly oldestMs: number | null;
}
