import type { ClaimedJob, Fence } from "./job.ts";
import type { ClaimLimits } from "./lane.ts";
import type { StoredFunction } from "./registration.ts";

/** What is between events and runs, and between jobs and those who claim them, as the store's port has it. */

/** Looked at in the intake's transaction; a run that does not pass is not made. */
export type FlowRule =
  | {
      readonly type: "rate";
      readonly name: "rate" | "idempotency";
      readonly functionId: string;
      readonly key: string;
      readonly limit: number;
      readonly periodMs: number;
    }
  | {
      readonly type: "single";
      readonly functionId: string;
      readonly key: string;
      readonly mode: "skip" | "cancel";
      /** Of the job that cancels the run before, with `cancel`. */
      readonly jobId: string;
    };

export type WindowKind = "debounce" | "batch" | "full";

/** An event that joins others, from which one run will be made. */
export interface WindowEntry {
  readonly kind: "debounce" | "batch";
  readonly functionId: string;
  readonly key: string;
  /** Ids for jobs, should it need them: of the window that it opens, and of the one that it fills. */
  readonly jobIds: readonly [string, string];
  /** Debounce: how long after the last event; batch: how long after the first. */
  readonly periodMs: number;
  /** Debounce: at most this long after the first. */
  readonly timeoutMs: number | null;
  /** Batch: of how many events at most. */
  readonly maxSize: number;
  /** What the event has to pass before. */
  readonly flowRules: readonly FlowRule[];
}

/** The characters of all events of a batch together. */
export const MAX_BATCH_LENGTH = 4 * 1024 * 1024;

export interface WindowKey {
  readonly functionId: string;
  readonly kind: WindowKind;
  readonly key: string;
}

/** A window as it was read. */
export interface OpenWindow extends WindowKey {
  readonly id: string;
  readonly count: number;
  readonly eventIds: readonly string[];
  /** In how long it is due; 0 = now. */
  readonly dueInMs: number;
}

/** The job of no run that an intake comes from; it goes with it. */
export interface IntakeSource {
  readonly fence: Fence;
  /** The window that is made a run of: still with this many events, and due. */
  readonly window?: WindowKey & { readonly id: string; readonly count: number };
  /** The schedule whose tick it is, and what comes next. */
  readonly cron?: CronTick;
}

export interface CronTick {
  readonly functionId: string;
  readonly cron: string;
  /** Null = no tick comes any more. */
  readonly next: { readonly tickMs: number; readonly dueMs: number; readonly jobId: string } | null;
}

export interface NewCron {
  readonly functionId: string;
  readonly appId: string;
  readonly cron: string;
  readonly jitterMs: number;
  readonly tickMs: number;
  readonly dueMs: number;
  readonly jobId: string;
}

/** A function as it was read, as far as its schedules go. */
export type ScheduledFunction = Pick<StoredFunction, "slug" | "active" | "triggersJson">;

/** All that decides on a function's schedules. */
export const scheduleText = ({ slug, active, triggersJson }: ScheduledFunction): string =>
  `${slug}\n${active ? triggersJson : ""}`;

/** A schedule of a function that was read from the store. */
export interface RegisteredCron extends NewCron {
  /** The function's, as they were read. */
  readonly triggersJson: string;
}

export interface StoredCron {
  readonly functionId: string;
  readonly cron: string;
  readonly jitterMs: number;
  /** The tick that its job stands for. */
  readonly tickMs: number;
  readonly nowMs: number;
}

export const cronKey = (functionId: string, cron: string): string => `${functionId}\n${cron}`;

export const windowKeyText = ({ kind, functionId, key }: WindowKey, id: string): string =>
  [kind, functionId, key, id].join("\n");

/** Reads a window job's key; undefined for anything else. */
export function readWindowKey(text: string): (WindowKey & { readonly id: string }) | undefined {
  const [kind, functionId, key, id] = text.split("\n");
  if ((kind !== "debounce" && kind !== "batch" && kind !== "full") || !functionId || key === undefined || !id)
    return undefined;
  return { kind, functionId, key, id };
}

/** The part of the store's port that is about flow control. */
export interface FlowStore {
  /** Makes jobs due that were put off (`holdMs`), the oldest first; how many for each want. What one want has no other gets. */
  recallJobs(wants: readonly RecallWant[]): Promise<readonly number[]>;

  /**
   * Leases due jobs of functions with limits, as `claim` does, but never more than their limits allow: what they count
   * is every job that is leased and was not returned, whoever claims at the same time. Keys whose places are taken do not hold
   * up others. `blocked`: functions of which due jobs had to be left; `retryInMs`: when a throttle lets the next one start.
   */
  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaim>;
  /** Puts jobs of these functions that are in no lane into one without limits, so that `claimLimited` finds them. */
  adoptLanes(functionIds: readonly string[]): Promise<void>;

  /** Puts a job off and gives its lease back; false when this is not its dispatch any more. */
  postponeJob(fence: Fence, delayMs: number): Promise<boolean>;
  /** What a window has; null when it is over. */
  loadWindow(key: WindowKey & { readonly id: string }): Promise<OpenWindow | null>;
  /** Events as JSON text, in the order of `eventIds`; those that are gone are left out. */
  loadEvents(eventIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Makes these the schedules of the apps: new ones get a job for their next tick, those that are gone lose it. Nothing
   * happens when the apps' functions are not `functions` any more: whoever has changed them saves theirs.
   */
  saveCrons(
    appIds: readonly string[],
    functions: readonly ScheduledFunction[],
    crons: readonly NewCron[],
  ): Promise<void>;
  /** Makes those that are missing, or whose job is, of functions whose triggers are still these; takes none away. */
  repairCrons(crons: readonly RegisteredCron[]): Promise<void>;
  loadCron(functionId: string, cron: string): Promise<StoredCron | null>;
}

export interface LimitedClaimRequest {
  readonly gatewayId: string;
  /** As `ClaimRequest` has it. */
  readonly registryVersion?: number;
  readonly wants: readonly {
    readonly functionId: string;
    readonly limit: number;
    readonly leaseMs: number;
    readonly limits: ClaimLimits;
  }[];
}

export interface LimitedClaim {
  readonly jobs: readonly ClaimedJob[];
  readonly blocked: readonly string[];
  readonly retryInMs: number | null;
}

/** Jobs that were put off: for one version of their app; with null those that no worker has had yet, for whichever. */
export interface RecallWant {
  readonly functionId: string;
  readonly appVersion: string | null;
  readonly limit: number;
}
