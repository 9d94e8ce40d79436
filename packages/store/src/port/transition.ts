import type { IntakeItem } from "./intake.ts";
import type { Fence, NewJob } from "./job.ts";
import type { LogRow } from "./log.ts";
import type { HeadPatch, NewRun } from "./run.ts";
import type { NewWait } from "./wait.ts";

export interface Transition {
  readonly runId: string;
  /** The queue row must still carry this dispatch. Null = no fence. */
  readonly fence: Fence | null;
  /**
   * The head must have exactly this version; or must not have ended; or is not looked at. With a version or "live" at
   * least one log row is needed: a head changes only together with the log. "live" with no row that is new changes
   * nothing, and wins with the version as it was.
   */
  readonly cas: number | "live" | null;
  readonly create?: NewRun;
  readonly log: readonly LogRow[];
  /** A run that has FAILED goes on with it; else an ended run changes no more. Needs `cas` with a version. */
  readonly revives?: true;
  /** Needs `cas`. The version rises by one with every transition that has `cas` (see there for repeats), with a patch or without. */
  readonly head?: HeadPatch;
  /** Needs `cas`. Ids of jobs of this run; removed before `addJobs` are added. */
  readonly removeJobs: readonly string[] | "all";
  /** Needs `cas` or `create`. */
  readonly addJobs: readonly NewJob[];
  /** Needs `cas`. Keys of waits of this run; removed before `addWaits` are added. */
  readonly removeWaits?: readonly string[] | "all";
  /** Needs `cas` or `create`. */
  readonly addWaits?: readonly NewWait[];
  /** Needs `cas` or `create`. Events that happen with it, and the runs they trigger; without idempotency keys. */
  readonly events?: readonly IntakeItem[];
  /** Of the registry that it was decided on. Loses (`registry`) when the store's is another one by now. */
  readonly registryVersion?: number;
}

/**
 * - `stale`: the job of the fence is gone or has another epoch: another worker has the work.
 * - `version`: another worker decided first; load and decide again.
 * - `ended`: the run is over. `gone`: there is no such run. `exists`: `create` met a run of that id.
 * - `signal`: another step waits for a signal that this one wants for itself.
 * - `registry`: the registry has changed since it was decided on; read it and decide again.
 */
export type LostWhy = "stale" | "version" | "ended" | "gone" | "exists" | "signal" | "registry";

export type CommitOutcome =
  | {
      readonly won: true;
      /** For each log row, in order, whether it was new. */
      readonly inserted: readonly boolean[];
      /** The head's version after it; null when the head was not looked at. */
      readonly version: number | null;
      /** The database's time of the commit: `atMs` of its rows. */
      readonly atMs: number;
      /** Ids of those of its `events` for which an `event` job was made. */
      readonly awaited: readonly string[];
    }
  | { readonly won: false; readonly why: LostWhy };
