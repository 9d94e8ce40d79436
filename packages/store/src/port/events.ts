/**
 * What reaches the store from outside a run: events with the runs they trigger, the flow control between the two (flow
 * rules, windows, schedules), and the waits of runs that an event, a signal or another run's end satisfies.
 */
import type { StoredFunction } from "./registry.ts";
import type { Fence, LogRow, NewJob, NewRun } from "./work.ts";

/** How long the ids that senders gave count. */
export const EVENT_KEY_MS = 86_400_000;

export interface NewEvent {
  /** ULID. */
  readonly id: string;
  readonly name: string;
  /** The id that the sender gave, if it did. */
  readonly idempotencyKey?: string | null;
  /** How long that id counts. Default `EVENT_KEY_MS`. */
  readonly keyKeptMs?: number;
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
   * Where something waits for an event of this name, an `event` job is made with it (id and key = the event's id):
   * leased on creation with this, else due at once.
   */
  readonly lease?: NewJob["lease"];
  /** Stored only where something waits for an event of this name; needs no runs. */
  readonly ifAwaited?: boolean;
  /** Stored only when one of its runs is made, or a window takes it; its key is free again otherwise. */
  readonly ifStarts?: boolean;
  /**
   * Of the registry that its runs and windows were decided on. Nothing is stored when the store's is another one by
   * now.
   */
  readonly registryVersion?: number;
  /** It was stored before, and the database has forgotten it: see `Transition.resent`. */
  readonly resent?: true;
  /** Its id follows from a request that may have come before. If it is stored, nothing is made: it is a duplicate. */
  readonly mayRepeat?: boolean;
}

export interface IntakeOutcome {
  /** Of the event that is stored: the given one, or with `duplicate` the one that was there first. */
  readonly eventId: string;
  readonly duplicate: boolean;
  readonly atMs: number;
  /** Of the first facts of its runs; null when it made none, or when that is not known any more. */
  readonly seq: number | null;
  /** Whether an `event` job was made. */
  readonly awaited: boolean;
  /** Runs that did not pass their flow rules, and how many windows did not open or take the event for that. */
  readonly skipped: readonly string[];
  readonly skippedWindows: number;
  /** What has stopped each of them: first of the runs, then of the windows. */
  readonly skippedBy: readonly SkippedBy[];
  /** Its source was stale, or its window has changed or is not due: nothing was made. */
  readonly lost: boolean;
  /** The registry has changed since it was decided on: nothing was made. Read it and decide again. */
  readonly outdated: boolean;
}

/** Checked in the intake's transaction; a run that does not pass is not made. */
export type FlowRule =
  | {
      readonly type: "rate";
      readonly name: "rate" | "idempotency";
      readonly functionId: string;
      readonly key: string;
      /** The key's value, for people. */
      readonly shown?: string;
      readonly limit: number;
      readonly periodMs: number;
    }
  | {
      readonly type: "single";
      readonly functionId: string;
      readonly key: string;
      readonly shown?: string;
      readonly mode: "skip" | "cancel";
      /** Of the job that cancels the run before, with `cancel`. */
      readonly jobId: string;
      /** The run takes this one's place, which ends with it: it is made in any case, and cancels none. */
      readonly continues?: string;
    };

/** The flow rule that a run has not passed. */
export interface SkippedBy {
  readonly functionId: string;
  readonly rule: "rate" | "idempotency" | "single";
  /** Of a singleton: the run that has its place. */
  readonly runId: string | null;
  /** The key's value, for people; null = it has none. */
  readonly shown: string | null;
}

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

/** `cancel` = an event that cancels the run. */
export type WaitKind = "event" | "signal" | "invoke" | "cancel";

/** Something from outside that a run waits for. Unique on (run, key); a second one changes nothing. */
export interface NewWait {
  readonly runId: string;
  /** The waiting step's hashed id, or `cancel:<n>`. */
  readonly key: string;
  readonly kind: WaitKind;
  /** The event's name, the signal, or the id of the run whose end is waited for. */
  readonly name: string;
  /** Condition on the incoming event; the store only keeps it. */
  readonly expression?: string | null;
  /** What it is found by beside the name: two lines of text; default "". */
  readonly match?: string;
  /** Nothing counts any more this long after now (a timer of its own wakes the run); default never. */
  readonly expiresInMs?: number | null;
  /** Signals: what to do when another step waits for the same one: lose (`signal`), or take its place. Default fail. */
  readonly conflict?: "fail" | "replace";
}

/** A wait as it was read. */
export interface StoredWait {
  readonly runId: string;
  readonly key: string;
  readonly kind: WaitKind;
  readonly name: string;
  readonly expression: string | null;
  readonly match: string;
  readonly beganMs: number;
  readonly expiresMs: number | null;
}

/** A page of the stored events, in the order of their ids; see `Store.scanEvents`. */
export interface EventScan {
  readonly name: string;
  /** Only events with ids after it. */
  readonly after: string;
  /** Only those that came then or later. */
  readonly sinceMs: number;
  /** Not those that this run was made of. */
  readonly notOfRun: string;
  /**
   * Only those whose text contains it, a JSON string or number; those whose text may have it in another form come, too:
   * with a backslash, or a number with an exponent. Null = all.
   */
  readonly text: string | null;
  /** How many events are looked at, of all names: 1 to 100,000. */
  readonly pageSize: number;
}

export interface EventScanPage {
  readonly ids: readonly string[];
  /** The last one that was looked at; null when there are no more. */
  readonly last: string | null;
}

export interface WaitQuery {
  readonly name: string;
  readonly kinds: readonly WaitKind[];
  readonly eventId?: string;
  /** Only those with one of these. Default [""]. */
  readonly matches?: readonly string[];
  /** 1 to 1000. */
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: { readonly match: string; readonly runId: string; readonly key: string };
}
