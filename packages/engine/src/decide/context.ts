import type { BackoffPolicy, Random } from "@holdfast/core";

/** What decisions take from outside. */
export interface DecideContext {
  /** The database's time, as well as it is known. */
  readonly nowMs: number;
  /** The latest that it may be: a job that is due later cannot have been claimed. */
  readonly latestMs: number;
  readonly random: Random;
  /** Makes ids of jobs. */
  readonly newId: () => string;
  readonly retry: BackoffPolicy;
  readonly maxSteps: number;
  /** Characters of a run's events and step results. */
  readonly maxStateLength: number;
  /** Whether a function of this id is registered. */
  readonly hasFunction: (functionId: string) => boolean;
  /** Why an expression cannot be used; null when it can. */
  readonly expressionProblem: (source: string) => string | null;
  /** What a wait with this condition is found by, for a run with this event. */
  readonly waitMatch: (condition: string, eventText: string) => string;
  /** Whether another step is known to wait for this signal; the store has the last word. */
  readonly isSignalTaken: (signal: string) => boolean;
}
