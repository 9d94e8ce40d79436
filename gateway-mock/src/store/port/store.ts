import type { ClaimLimits, FlowStore, Gate, IntakeSource, Lane, WindowEntry } from "./flow.ts";
import type { StoreReads } from "./store-reads.ts";

/**
 * The store's port: the only way to durable state. Its one implementation is `openPostgresStore`; the conformance suite
 * in `test/store` is its contract.
 *
 * Words. A *job* is a row of the queue. A *dispatch* of it is named by the job's id and its `epoch`, which rises only
 * when the job is claimed again. A *transition* is everything that one decision changes, all or nothing.
 *
 * Time. The database's clock alone decides what is due and how long a lease lasts, so gateways with skewed clocks agree;
 * times come back as whole milliseconds since the epoch. JSON goes in and out as text, verbatim (fields `...Json`).
 *
 * Failure. Every method rejects with a `HoldfastError`: `STORE_FAILED` when the database refused for good or stayed away
 * for longer than `retryForMs`. Lost connections, deadlocks and serialization failures are tried
 * again inside. Nothing is half done: a rejected write changed nothing, or (only after `retryForMs` without a database)
 * its fate is unknown, which the message says.
 */
export interface Store extends StoreReads, FlowStore {
  /**
   * Brings the schema up to date. Safe when several gateways start at once; does nothing when there is nothing to do.
   * @throws HoldfastError `DATABASE_UNREACHABLE`, `DATABASE_TOO_OLD` (before Postgres 14), `DATABASE_SCHEMA_NEWER`
   */
  migrate(): Promise<void>;

  /**
   * Commits one transition. Those that pile up while a commit is under way become one transaction; each wins or loses on
   * its own. Resolved means durable. Transitions on the same run are applied in the order of their calls.
   *
   * `cas`, `fence` and `create` are looked at under row locks, so nobody can come in between. A transition with a fence,
   * log rows and nothing else is the fast path: it locks its queue row and inserts, the head stays untouched.
   * A commit whose connection broke is never applied twice: its transaction's fate is read from the database and the
   * outcome is that of the try that was committed.
   */
  commit(transition: Transition): Promise<CommitOutcome>;

  /**
   * Takes events in, each with the runs it triggers, through the same group commit. One event and its runs are atomic.
   * An event whose `idempotencyKey` was seen under the same name in the last 24 hours makes nothing new and reports the
   * event that was there first. Outcomes are in the order of `items`.
   */
  intake(items: readonly IntakeItem[]): Promise<readonly IntakeOutcome[]>;

  /**
   * Leases due jobs: never leased, released, and those whose lease ended. No job is given to two callers. Per function at
   * most `limit`, the longest due first, where each unit of priority counts as one second. Each claim raises the job's epoch by one. A job whose
   * lease had ended (or was released as lost) gets a `LEASE_LOST` row (key = job id, iteration = the lost epoch).
   * After an outage of the database the first claims wait some seconds, so that the extensions it held up come first.
   * The head of the run is not touched by a claim; reads show a run with a leased job as RUNNING.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedJob[]>;

  /**
   * Moves lease ends to now + `leaseMs` and makes the gateway that asks the holder, also of a lease that had ended or was
   * released: while nobody has claimed the job again, its worker keeps it. True for each that was still this dispatch.
   */
  extendLeases(leases: readonly LeaseExtension[]): Promise<readonly boolean[]>;

  /**
   * Ends leases at once: the jobs are due now. The epoch stays, so a late result is welcome until somebody claims again.
   * True for each that was leased as this dispatch, and held by `heldBy` where that is given: a gateway that stops must
   * not end the lease of work that has moved to another one with its worker.
   */
  releaseLeases(leases: readonly LeaseRelease[]): Promise<readonly boolean[]>;

  /** Removes a job of no run, or of kind `start`; false when this is not its dispatch any more. */
  finishJob(fence: Fence): Promise<boolean>;

  /**
   * Those who wait for what `name` names, in the order of (match, run, key). With `eventId`: only waits that began before that
   * event was stored and had not expired then, and none of a run that the event itself triggered.
   */
  findWaits(query: WaitQuery): Promise<readonly StoredWait[]>;

  /** The first lines of the `match` of all who wait for what `name` names, each once, in order; without "". */
  waitPaths(name: string): Promise<readonly string[]>;

  /** The runs that exist among `runIds`, each with its log in the order of writing. */
  loadRuns(runIds: readonly string[]): Promise<readonly StoredRun[]>;

  /** What the database's clock says. */
  nowMs(): Promise<number>;

  /** How long until the next job of these functions is due (0 = one is due now, leased ones count at their lease's end); null = none. */
  nextDueInMs(functionIds: readonly string[]): Promise<number | null>;

  /**
   * Says that these deployments of apps are there (again); returns all functions of the apps as stored, with the uuid each
   * got when first seen. A deployment that was never seen before is the newest of its app: its functions are as it has
   * them, and those it does not have are no longer active. An older one changes nothing while a newer one is there: it was
   * said so of it within the last minute.
   */
  saveApps(apps: readonly AppRecord[]): Promise<readonly StoredFunction[]>;
  loadFunctions(): Promise<readonly StoredFunction[]>;

  /** Says that this gateway is there; call it every five seconds or so. */
  touchGateway(gatewayId: string): Promise<void>;
  /** Who is connected where. */
  saveConnection(connection: ConnectionRecord): Promise<void>;
  removeConnections(connectionIds: readonly string[]): Promise<void>;
  /**
   * Marks this gateway's connections as seen, and removes what is past its time: connections that were not marked for
   * `staleAfterMs`, event keys older than 24 hours, marks of stores that are long gone. Call it every half minute or so.
   */
  touchConnections(gatewayId: string, staleAfterMs: number): Promise<void>;

  /**
   * Calls back when another store instance told of something (never for one's own). Best effort: `{ type: "all" }`
   * comes when listening begins, and again after a lost connection, since tidings may have been missed. Correctness must not need it. Returns how to stop.
   */
  onWake(listener: (wake: Wake) => void): () => void;
  /** Tells the others, soon; never rejects. Jobs that were put due now and not born leased are told of by themselves. */
  notify(wake: Wake): void;

  /** Counters since the start, for metrics and tests. */
  stats(): StoreStats;

  /** What is known of the database at the moment; asks nobody. */
  health(): DatabaseHealth;

  /** Lets queued writes finish (at most `timeoutMs`, default 5000), then closes every connection. */
  close(timeoutMs?: number): Promise<void>;
}

export const LOG_KINDS = [
  "RUN_CREATED",
  "DISPATCHED",
  "STEP_PLANNED",
  "STEP_BEGUN",
  "STEP_WAITING",
  "STEP_COMPLETED",
  "STEP_ATTEMPT_FAILED",
  "STEP_FAILED",
  "PASS_FAILED",
  "PASS_REPORTED",
  "LEASE_LOST",
  "TIMER_FIRED",
  "PINNED",
  "STALLED",
  "DEFERRED",
  "DEFER_ABORTED",
  "RUN_COMPLETED",
  "RUN_FAILED",
  "RUN_CANCELLED",
  "RUN_REVIVED",
] as const;
export type LogKind = (typeof LOG_KINDS)[number];

export const RUN_STATUSES = ["PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/**
 * `timer` and `fetch` (an HTTP call that the gateway makes for a step) belong to a run but need no agent. `event` and
 * `child` belong to none: they tell those who wait for the event, or for the end of the run, that `key` names.
 */
export type JobKind =
  | "pass"
  | "step"
  | "timer"
  | "fetch"
  | "event"
  | "child"
  /** Of a run: it is cancelled if it has not started by then. */
  | "start"
  /** Of no run: a window is over; a schedule's tick; a run is to be cancelled for another one. */
  | "window"
  | "cron"
  | "cancel";

/** One fact of a run. Unique on (run, key, kind, attempt, iteration): the first one written stays. */
export interface LogRow {
  readonly kind: LogKind;
  /** Hashed step id, or "" for the run itself. */
  readonly key: string;
  /** Zero-based. */
  readonly attempt: number;
  readonly iteration: number;
  readonly dataJson: string;
}

export interface StoredLogRow extends LogRow {
  /** Rises in the order of writing, with gaps. */
  readonly seq: number;
  readonly atMs: number;
  /** What the run's head became with this row; null when the row did not touch it. */
  readonly headVersion: number | null;
  readonly headStatus: RunStatus | null;
}

/** A run to be made: version 1, status PENDING (RUNNING when one of its jobs is born leased). */
export interface NewRun {
  readonly id: string;
  readonly functionId: string;
  readonly appId: string;
  /** The version of the app that is to run it; "" when unknown. */
  readonly appVersion: string;
  /** The (first) event that triggered it, for lists; the payloads are in the RUN_CREATED row. */
  readonly eventId: string;
  readonly eventName: string;
  readonly deadlineMs?: number | null;
}

export interface NewJob {
  readonly id: string;
  /** "" for jobs that belong to no run. */
  readonly runId: string;
  readonly kind: JobKind;
  /** "" for a pass, the step's hashed id otherwise. A second job of one (run, kind, key) is not made. */
  readonly key: string;
  /** "" for what any gateway may claim, because no agent is needed. */
  readonly functionId: string;
  readonly attempt: number;
  readonly iteration: number;
  /** Goes first as if due so many seconds earlier; default 0. */
  readonly priority?: number;
  /** Due this long after now; default 0. */
  readonly delayMs?: number;
  /** Not due before this instant (with `delayMs`: the later of the two). */
  readonly notBeforeMs?: number | null;
  /** Of functions with limits. Such a job is never born leased. */
  readonly lane?: Lane | null;
  /** Born leased: epoch 1 instead of 0, due when the lease ends. */
  readonly lease?: { readonly gatewayId: string; readonly leaseMs: number } | null;
}

/** Changes of a run's head. Fields left out stay. `startedAt` and `endedAt` follow from the status. */
export interface HeadPatch {
  readonly status: RunStatus;
  /** With COMPLETED. */
  readonly outputJson?: string;
  /** With FAILED and CANCELLED. */
  readonly errorJson?: string;
  readonly appVersion?: string;
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
  /** Nothing counts any more this long after now (the run is told by a timer of its own); default never. */
  readonly expiresInMs?: number | null;
  /** Signals: what to do when another step waits for the same one: lose (`signal`), or take its place. Default fail. */
  readonly conflict?: "fail" | "replace";
}

/** A wait that is looked at. */
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

export interface Fence {
  readonly jobId: string;
  readonly epoch: number;
}

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
}

/**
 * - `stale`: the job of the fence is gone or has another epoch: somebody else has the work.
 * - `version`: somebody else decided first; load and decide again.
 * - `ended`: the run is over. `gone`: there is no such run. `exists`: `create` met a run of that id.
 * - `signal`: another step waits for a signal that this one wants for itself.
 */
export type LostWhy = "stale" | "version" | "ended" | "gone" | "exists" | "signal";

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
  /** Without passing all of them it is not made. Its jobs must not be born leased. */
  readonly gates?: readonly Gate[];
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
   * Where somebody waits for an event of this name, an `event` job is made with it (id and key = the event's id): born
   * leased with this, else due at once.
   */
  readonly lease?: NewJob["lease"];
  /** Stored only where somebody waits for an event of this name; needs no runs. */
  readonly ifAwaited?: boolean;
}

export interface IntakeOutcome {
  /** Of the event that is stored: the given one, or with `duplicate` the one that was there first. */
  readonly eventId: string;
  readonly duplicate: boolean;
  readonly atMs: number;
  /** Whether an `event` job was made. */
  readonly awaited: boolean;
  /** Runs that did not pass their gates, and how many windows did not open or take the event for that. */
  readonly skipped: readonly string[];
  readonly skippedWindows: number;
  /** Its source was stale, or its window has changed or is not due: nothing was made. */
  readonly lost: boolean;
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

export interface ClaimRequest {
  readonly gatewayId: string;
  readonly leaseMs: number;
  /** "" = timers. Each function at most once. */
  readonly wants: readonly { readonly functionId: string; readonly limit: number; readonly leaseMs?: number }[];
}

export interface ClaimedJob {
  readonly id: string;
  readonly runId: string;
  readonly kind: JobKind;
  readonly key: string;
  readonly functionId: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly priority: number;
  readonly epoch: number;
  readonly leaseUntilMs: number;
  readonly dueSinceMs: number;
  /** Whether a lease of it had ended without a result. */
  readonly lost: boolean;
  /** Null for jobs that belong to no run. */
  readonly run: StoredRun | null;
}

export interface RunHead {
  readonly id: string;
  readonly functionId: string;
  readonly appId: string;
  readonly appVersion: string;
  /** As stored. Reads for people (`listRuns`, `getRun`) show RUNNING while a pass or step is leased. */
  readonly status: RunStatus;
  readonly version: number;
  readonly eventId: string;
  readonly eventName: string;
  readonly deadlineMs: number | null;
  readonly outputJson: string | null;
  readonly errorJson: string | null;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
}

export interface StoredRun {
  readonly head: RunHead;
  readonly log: readonly StoredLogRow[];
}

export interface LeaseExtension extends Fence {
  readonly gatewayId: string;
  readonly leaseMs: number;
  /** With these two a lease that was given back is taken up again only where its function's limits leave a place. */
  readonly functionId?: string;
  readonly limits?: ClaimLimits | null;
}

export interface LeaseRelease extends Fence {
  /** True when the work was lost (its worker went away): the next claim then records `LEASE_LOST`. */
  readonly lost: boolean;
  readonly heldBy?: string;
  /** Put off: not due again for so long, unless `recallJobs` asks for it. */
  readonly holdMs?: number;
}

export interface AppRecord {
  readonly id: string;
  readonly version: string;
  readonly sdk: string;
  readonly functions: readonly FunctionRecord[];
}

export interface FunctionRecord {
  /** As the wire has it: app id, dash, function id. */
  readonly slug: string;
  readonly name: string;
  readonly triggersJson: string;
  readonly configJson: string;
}

export interface StoredFunction extends FunctionRecord {
  /** False: the newest deployment of its app does not have it; nothing starts new runs of it. */
  readonly active: boolean;
  readonly appId: string;
  readonly appVersion: string;
  readonly uuid: string;
}

export interface ConnectionRecord {
  readonly id: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly appIds: readonly string[];
  /** `app@version` of each. */
  readonly versions: readonly string[];
  readonly status: string;
  readonly connectedMs: number;
}

export interface ListedConnection extends ConnectionRecord {
  /** For how long its gateway has given no sign of life. */
  readonly silentMs: number;
}

export type Wake =
  /** Jobs of these functions may be due. */
  | { readonly type: "jobs"; readonly functionIds: readonly string[] }
  /** Jobs of these functions were put off, for whoever has a worker of their version. */
  | { readonly type: "held"; readonly functionIds: readonly string[] }
  /** The registry of functions changed. */
  | { readonly type: "functions" }
  /** These runs were ended from outside (cancelled): whoever has their work should stop it. */
  | { readonly type: "ended"; readonly runIds: readonly string[] }
  /** These jobs are no more, though an agent may be at them. */
  | { readonly type: "removed"; readonly jobIds: readonly string[] }
  /** Something may have been missed. */
  | { readonly type: "all" };

export interface StoreStats {
  readonly batches: number;
  /** Those that took one round trip; all others took two. */
  readonly foreseenBatches: number;
  readonly transitions: number;
  /** Statements sent by group commits, BEGIN and COMMIT included. */
  readonly statements: number;
  readonly logRows: number;
  /** Transitions that a fence turned away. */
  readonly staleWrites: number;
  readonly duplicateRows: number;
  readonly batchRetries: number;
  readonly queued: number;
  /** How long group commits took together. */
  readonly commitMs: number;
}

export interface DatabaseHealth {
  /** False: nothing has been answered for a while. Calls wait and are tried again. */
  readonly ok: boolean;
  /** For how long it has been away; 0 when it is not. */
  readonly awayMs: number;
  /** What the last failed call said, when it is away. */
  readonly error: string | null;
  /** Since the start: how often it was away, and for how long altogether. */
  readonly outages: number;
  readonly awayMsTotal: number;
  /** Since the start: transactions and statements that the server undid (deadlock, serialization failure, cancelled). */
  readonly conflicts: number;
}
