/** What is done with runs after their end: where new ones come from, what is deleted. */

/** The run that another one was made of. */
export interface RunOrigin {
  readonly runId: string;
  readonly kind: "rerun" | "fork";
  /** Of a fork: the step from which it goes on by itself, as people call it. */
  readonly step: string | null;
}

/** A run that was made of another one. */
export type Descendant = RunOrigin;

/**
 * - `living`: it has not ended. `held`: it is to be kept, whatever its age.
 * - `needed`: the run that invoked it has not been notified of its end yet.
 * - `gone`: there is no such run.
 */
export type DeleteOutcome = "deleted" | "living" | "held" | "needed" | "gone";

export interface StoreRepairs {
  /**
   * Deletes runs that have ended: head, log, and where it came from. Events that were theirs alone go with them,
   * unless a window holds one or its `event` job has not been done; so do the ids that senders gave those. Each run for
   * itself; at most 1000. What is written to such a run later is `gone`.
   */
  deleteRuns(runIds: readonly string[]): Promise<readonly DeleteOutcome[]>;
  /** Runs that were made of this one, the newest first; at most `limit`. */
  descendantsOf(runId: string, limit: number): Promise<readonly Descendant[]>;
}
