/** The rows a batch found under its locks: what `planBatch` decides on. */
import type { RunStatus } from "../port/work.ts";
import type { FlowRuleState } from "./flow-rules.ts";
import type { WaitKey } from "./write-set.ts";

export interface LockedJob {
  readonly id: string;
  readonly runId: string;
  readonly epoch: number;
}

export interface LockedRun {
  readonly id: string;
  readonly version: number;
  readonly status: RunStatus;
}

/** What the first half of the transaction found, under locks. */
export interface LockedRows {
  readonly jobs: ReadonlyMap<string, LockedJob>;
  readonly runs: ReadonlyMap<string, LockedRun>;
  /** By `eventKeyOf`: the id of the event that holds the key. */
  readonly eventKeys: ReadonlyMap<string, string>;
  /** Those of the batch's `repeatedEvents` that are stored. */
  readonly knownEvents: ReadonlySet<string>;
  /** Those of the batch's event names for which something waits. */
  readonly awaited: ReadonlySet<string>;
  /** Who waits for the batch's signals. */
  readonly signals: ReadonlyMap<string, WaitKey>;
  readonly flowRules: ReadonlyMap<string, FlowRuleState>;
  /** By `factKeyOf`: those facts of the batch that the log has already, and maybe others that it has. */
  readonly facts: ReadonlySet<string>;
  /** The registry's; null where nothing rests on it. */
  readonly registryVersion: number | null;
  /** The transaction's time. */
  readonly atMs: number;
}
