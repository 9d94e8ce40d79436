import type { FlowRule, IntakeSource, WindowEntry } from "./flow.ts";
import type { NewJob } from "./job.ts";
import type { LogRow } from "./log.ts";
import type { NewRun } from "./run.ts";
import type { NewWait } from "./wait.ts";

export interface NewEvent {
  /** ULID. */
  readonly id: string;
  readonly name: string;
  /** The id that the sender gave, if it did. */
  readonly idempotencyKey?: string | null;
  /** The sender's time. */
  readonly tsMs: number;
  /** The whole event as JSON text, as it is passed to functions. */
  readonly payloadJson: string;
}

export interface IntakeRun {
  readonly run: NewRun;
  readonly log: readonly LogRow[];
  readonly jobs: readonly NewJob[];
  readonly waits?: readonly NewWait[];
  /** Without passing all of them it is not made. Its jobs must not be leased on creation. */
  readonly flowRules?: readonly FlowRule[];
}

export interface IntakeItem {
  readonly event: NewEvent;
  readonly runs: readonly IntakeRun[];
  /** Windows that the event joins, for runs that are made later. */
  readonly windows?: readonly WindowEntry[];
  /** These events are stored already, `event` is one of them: only the runs are made. */
  readonly storedEvents?: readonly string[];
  /** The job that it comes from; nothing is made when that is no longer this dispatch. */
  readonly source?: IntakeSource;
  /**
   * Where something waits for an event of this name, an `event` job is made with it (id and key = the event's id): born
   * leased with this, else due at once.
   */
  readonly lease?: NewJob["lease"];
  /** Stored only where something waits for an event of this name; needs no runs. */
  readonly ifAwaited?: boolean;
  /** Of the registry that its runs and windows were decided on. Nothing is stored when the store's is another one by now. */
  readonly registryVersion?: number;
}

export interface IntakeOutcome {
  /** Of the event that is stored: the given one, or with `duplicate` the one that was there first. */
  readonly eventId: string;
  readonly duplicate: boolean;
  readonly atMs: number;
  /** Whether an `event` job was made. */
  readonly awaited: boolean;
  /** Runs that did not pass their flowRules, and how many windows did not open or take the event for that. */
  readonly skipped: readonly string[];
  readonly skippedWindows: number;
  /** Its source was stale, or its window has changed or is not due: nothing was made. */
  readonly lost: boolean;
  /** The registry has changed since it was decided on: nothing was made. Read it and decide again. */
  readonly outdated: boolean;
}
