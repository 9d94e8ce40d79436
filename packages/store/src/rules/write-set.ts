/** Everything that one batch writes; the stores turn it into statements or rows. */
import type { CronTick, NewEvent, NewWait } from "../port/events.ts";
import type { LogRow, NewJob, NewRun, RunStatus } from "../port/work.ts";
import type { FlowRuleState } from "./flow-rules.ts";

export interface WaitKey {
  readonly runId: string;
  readonly key: string;
}

/** One row of the log: all facts that one decision adds to a run, or one report of what goes on. */
export interface LogWrite {
  readonly runId: string;
  /** At least one. */
  readonly facts: readonly LogRow[];
  readonly version: number | null;
  readonly status: RunStatus | null;
}

export interface HeadWrite {
  readonly runId: string;
  readonly version: number;
  readonly status: RunStatus;
  /** Whose claim began the run, if it has not begun before. */
  readonly jobId: string | null;
  readonly ended: boolean;
  readonly output: string | null;
  readonly error: string | null;
  readonly appVersion: string | null;
  /** Left out: it stays. */
  readonly deadlineMs?: number | null;
}

export interface RunWrite {
  readonly run: NewRun;
  readonly status: RunStatus;
}

export interface EventWrite {
  readonly event: NewEvent;
  readonly runIds: readonly string[];
}

/** The second half of the transaction: rows to write, by table. */
export interface WriteSet {
  readonly events: EventWrite[];
  readonly runs: RunWrite[];
  readonly logs: LogWrite[];
  readonly heads: HeadWrite[];
  readonly removeJobs: string[];
  readonly removeJobsOfRuns: string[];
  readonly jobs: NewJob[];
  readonly removeWaits: WaitKey[];
  readonly removeWaitsOfRuns: string[];
  readonly waits: NewWait[];
  readonly flowRules: FlowRuleState[];
  readonly crons: CronTick[];
  /** Event keys that were held for events which are not stored. */
  readonly freeKeys: { readonly name: string; readonly key: string; readonly eventId: string }[];
  /** Runs that were made of events stored before. */
  readonly links: { readonly eventIds: readonly string[]; readonly runId: string }[];
}
