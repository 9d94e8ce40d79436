import type { StoreBulk } from "./bulk.ts";
import type { StoreChanges } from "./changes.ts";
import type { ControlWrites } from "./controls.ts";
import type {
  EventScan,
  EventScanPage,
  IntakeItem,
  IntakeOutcome,
  NewCron,
  NewWait,
  OpenWindow,
  RegisteredCron,
  ScheduledFunction,
  StoredCron,
  StoredWait,
  WaitQuery,
  WindowKey,
} from "./events.ts";
import type { StoreGraphs } from "./graphs.ts";
import type { LimitReads } from "./limits.ts";
import type { DatabaseHealth, HistoryLoss, StoreReads, StoreStats } from "./reads.ts";
import type { AppRecord, ConnectionRecord, Registration, StoredFunction, StoredRegistry } from "./registry.ts";
import type { StoreRepairs } from "./repair.ts";
import type { PruneOptions, PruneProgress, RetentionPolicy, RunHold } from "./retention.ts";
import type { WaitingReads } from "./waiting.ts";
import type {
  ClaimedJob,
  ClaimRequest,
  Fence,
  HeadPatch,
  LaneAdoption,
  LanesAdopted,
  LeaseExtension,
  LeaseRelease,
  LimitedClaim,
  LimitedClaimRequest,
  LogRow,
  NewJob,
  NewRun,
  RecallWant,
  StoredRun,
} from "./work.ts";

/**
 * The store's port: the only way to durable state. The types it speaks are in the files beside this one: `work.ts`,
 * `events.ts`, `registry.ts`, `reads.ts`. `openPostgresStore` keeps it with Postgres, `createMemoryDatabase` in memory;
 * `packages/store/test/contract` is run on both.
 *
 * Words. A *job* is a row of the queue. A *dispatch* of it is named by the job's id and its `epoch`, which rises only
 * when the job is claimed again, or moved to another worker. A *transition* is everything that one decision changes,
 * all or nothing.
 *
 * Time. The database's clock alone decides what is due and how long a lease lasts, so gateways with skewed clocks
 * agree; times come back as whole milliseconds since the epoch. JSON goes in and out as text, verbatim (fields
 * `...Json`).
 *
 * Failure. Where a method names no other error it rejects with a `StoreError` (`errors.ts`), whose `reason` says what may be
 * done about it. Lost connections, deadlocks and serialization failures are retried inside, for `retryForMs`. Nothing is
 * half done: a rejected write changed nothing, or (only after `retryForMs` without a database) its fate is unknown,
 * which the message says.
 */
export interface Store
  extends StoreReads,
    StoreChanges,
    WaitingReads,
    LimitReads,
    ControlWrites,
    StoreRepairs,
    StoreBulk,
    StoreGraphs {
  /**
   * Brings the schema up to date. Safe when several gateways start at once; does nothing when there is nothing to do.
   * @throws HoldfastError `DATABASE_UNREACHABLE`, `DATABASE_TOO_OLD` (before Postgres 14), `DATABASE_SCHEMA_NEWER`
   */
  migrate(): Promise<void>;

  // Runs

  /**
   * Commits one transition. Those that pile up while a commit is under way become one transaction; each wins or loses
   * on its own. Resolved means durable. Transitions on the same run are applied in the order of their calls.
   *
   * `cas`, `fence` and `create` are checked under row locks, so nothing can come in between. A transition with a fence,
   * log rows and nothing else is the fast path: it locks its queue row and inserts, the head stays untouched.
   * A commit whose connection broke is never applied twice: its transaction's fate is read from the database and the
   * outcome is that of the try that was committed.
   */
  commit(transition: Transition): Promise<CommitOutcome>;

  /** The runs that exist among `runIds`, each with its log in the order of writing. */
  loadRuns(runIds: readonly string[]): Promise<readonly StoredRun[]>;

  // The queue

  /**
   * Leases due jobs: never leased, released, and those whose lease ended. No job is leased to two callers. Per function
   * at most `limit`, the longest due first, where each unit of priority counts as one second. Each claim raises the
   * job's epoch by one. A job whose lease had ended (or was released as lost) gets a `LEASE_LOST` row (key = job id,
   * iteration = the lost epoch). After an outage of the database the first claims wait some seconds, so that the
   * extensions it held up come first. The head of the run is not touched by a claim; reads show a run with a leased job
   * as RUNNING. The runs come with their jobs, except those of timers whose lease was not lost and of which `hasRunOf`
   * says that the caller has them.
   */
  claim(request: ClaimRequest): Promise<readonly ClaimedJob[]>;

  /**
   * Leases due jobs of functions with limits, as `claim` does, but never more than their limits allow: every job that
   * is leased and was not returned counts, whichever gateways claim concurrently. Keys whose slots are taken do not
   * delay others. `blocked`: functions with due jobs that had to be left; `retryInMs`: when a throttle lets the next
   * one start.
   */
  claimLimited(request: LimitedClaimRequest): Promise<LimitedClaim>;
  /**
   * Puts jobs of these functions into the lanes that they have now, those that workers have at the moment as well: they
   * count. A first pass that no worker has had waits for the throttle, if there is one. Some thousands of each function
   * at once: of those that are `left` there may be more, or others have them locked. Nothing is done, and none is left,
   * when the registry is of another version by then.
   */
  adoptLanes(adoptions: readonly LaneAdoption[], registryVersion?: number): Promise<LanesAdopted>;

  /**
   * Moves lease ends to now + `leaseMs` and makes the gateway that asks the holder, also of a lease that had ended or
   * was released: while no worker has claimed the job again, its worker keeps it. True for each that was still this
   * dispatch. With `next` the epoch rises, so that what comes under the old one is late from now on; the job is never
   * free between.
   */
  extendLeases(leases: readonly LeaseExtension[]): Promise<readonly boolean[]>;

  /**
   * Ends leases at once: the jobs are due now. The epoch stays, so a late result is welcome until another gateway
   * claims again. True for each that was leased as this dispatch, and held by `heldBy` where that is given: a gateway
   * that stops must not end the lease of work that has moved to another one with its worker.
   */
  releaseLeases(leases: readonly LeaseRelease[]): Promise<readonly boolean[]>;

  /**
   * For a gateway that starts: while no gateway was there no one could extend a lease. Where no other one has been seen in
   * the last seconds, leases of what workers have run on for at least `leaseMs` from now. Returns how many were moved.
   */
  renewLeases(gatewayId: string, leaseMs: number): Promise<number>;

  /**
   * Makes jobs due that were put off (`holdMs`), the oldest first; how many for each want. What one want has no other
   * gets.
   */
  recallJobs(wants: readonly RecallWant[]): Promise<readonly number[]>;
  /** Puts a job off and ends its lease; false when this is not its dispatch any more. */
  postponeJob(fence: Fence, delayMs: number): Promise<boolean>;
  /** Removes a job of no run, or of kind `start`; false when this is not its dispatch any more. */
  finishJob(fence: Fence): Promise<boolean>;

  /**
   * How long until the next job of these functions is due (0 = one is due now, leased ones count at their lease's end);
   * null = none.
   */
  nextDueInMs(functionIds: readonly string[]): Promise<number | null>;

  // Events, waits, windows, schedules

  /**
   * Takes events in, each with the runs it triggers, through the same group commit. One event and its runs are atomic.
   * An event whose `idempotencyKey` was seen under the same name in the last 24 hours makes nothing new and reports the
   * event that was there first. Outcomes are in the order of `items`. Rejects when none of them is under way any more.
   */
  intake(items: readonly IntakeItem[]): Promise<readonly IntakeOutcome[]>;
  /** Events as JSON text, in the order of `eventIds`; those that are gone are left out. */
  loadEvents(eventIds: readonly string[]): Promise<readonly string[]>;

  /**
   * The waits for what `name` names, in the order of (match, run, key). With `eventId`: only waits that began before
   * that event was stored and had not expired then, and none of a run that the event itself triggered.
   */
  findWaits(query: WaitQuery): Promise<readonly StoredWait[]>;
  /**
   * Events that were stored before a wait for them. What is stored by a write that was under way meanwhile may be
   * missing: see `writesUnderWay`.
   */
  scanEvents(scan: EventScan): Promise<EventScanPage>;
  /**
   * Names of the writes that are under way, of those in `among` where that is given. A write that began before something
   * was committed, and so may not have seen it, is among them until its own rows can be read. There may be others among
   * them.
   */
  writesUnderWay(among?: readonly string[]): Promise<readonly string[]>;
  /** The first lines of the `match` of all waits for what `name` names, each once, in order; without "". */
  waitPaths(name: string): Promise<readonly string[]>;

  /** What a window has; null when it is over. */
  loadWindow(key: WindowKey & { readonly id: string }): Promise<OpenWindow | null>;

  /**
   * Makes these the schedules of the apps: new ones get a job for their next tick, removed ones lose it. Nothing
   * happens when the apps' functions are no longer `functions`: the gateway that changed them saves their schedules.
   */
  saveCrons(
    appIds: readonly string[],
    functions: readonly ScheduledFunction[],
    crons: readonly NewCron[],
  ): Promise<void>;
  /** Makes those that are missing, or whose job is, of functions whose triggers are still these; takes none away. */
  repairCrons(crons: readonly RegisteredCron[]): Promise<void>;
  loadCron(functionId: string, cron: string): Promise<StoredCron | null>;

  // Apps, gateways, connections

  /**
   * Records that these deployments of apps are connected (again); returns all functions of the apps as stored, with the
   * uuid each got when first seen. A deployment that was never seen before is the newest of its app: its functions are
   * as it has them, and those it does not have are no longer active. An older one changes nothing while a newer one is
   * there: one that was recorded within the last minute. Unless it has come back: a process of it began after it was
   * recorded last, and it had been away for a while by the time that a newer one was recorded last. Or the workers of
   * the newer ones have all said that they end (`removeConnections`). All or nothing.
   * @throws HoldfastError `FUNCTION_TAKEN` when another app has a function of the same slug: a deployment that was
   *   there within the last minute has it, or runs of it have not ended
   */
  saveApps(apps: readonly AppRecord[], registration?: Registration): Promise<readonly StoredFunction[]>;
  loadRegistry(): Promise<StoredRegistry>;
  /** Of the registry as it is now: equal to that of a `StoredRegistry` while that one is current. */
  registryVersion(): Promise<number>;
  /**
   * Another one when `loadRegistry` would give something else than before, deployments included, which the version does
   * not count. Every gateway asks for it every two seconds, so it is cheap.
   */
  registryMark(): Promise<string>;
  /** What tells builds of this version of an app apart that were recorded within the last minute: one text for each. */
  recentBuilds(appId: string, version: string): Promise<readonly string[]>;

  /** Records that this gateway is alive; call it every five seconds or so. */
  touchGateway(gatewayId: string): Promise<void>;
  /** Who is connected where. */
  saveConnection(connection: ConnectionRecord): Promise<void>;
  /**
   * `left`: those of them whose workers said that they end. A deployment whose version no other connection has, at
   * whatever gateway, counts from then on as one that has been silent for a minute.
   */
  removeConnections(connectionIds: readonly string[], left?: readonly string[]): Promise<void>;
  /**
   * Marks this gateway's connections as seen, and removes what is past its time: connections that were not marked for
   * `staleAfterMs`, event keys older than 24 hours, marks of stores that are long gone. Call it every half minute or
   * so.
   */
  touchConnections(gatewayId: string, staleAfterMs: number): Promise<void>;

  /**
   * Random text, made with the schema, that only the gateways of this database know; session tokens are signed with it.
   */
  secret(): Promise<string>;
  /**
   * Uses up the session token that was made for this connection: false when it was used before, at whatever gateway.
   * It is remembered for `lifetimeMs`, after which the token has expired by itself.
   */
  useToken(connectionId: string, lifetimeMs: number): Promise<boolean>;

  // Retention

  /**
   * Removes runs that ended longer ago than the policy has them kept, with log, events and all that belongs to them; a
   * step at a time, so that no write waits for it. A store may remove late, but never what has not ended, is on hold, or
   * is needed: by a job, or by a run that waits for its end. Any number of gateways may call it; one is at work.
   */
  prune(policy: RetentionPolicy, options?: PruneOptions): Promise<PruneProgress>;
  /** Keeps a run until it is released; null = there is no such run. Of one that is on hold the reason changes. */
  holdRun(runId: string, reason: string): Promise<RunHold | null>;
  /** False: it was not on hold. */
  releaseHold(runId: string): Promise<boolean>;

  // The store itself

  /**
   * Calls back when another store instance announced something (never for one's own). Best effort: `{ type: "ANYTHING" }`
   * comes when listening begins, and again after a lost connection, since notifications may have been missed.
   * Correctness must not need it. Returns how to stop.
   */
  onWake(listener: (wake: Wake) => void): () => void;
  /**
   * Notifies the others, soon; never rejects. Jobs that were put due now and not leased on creation announce
   * themselves.
   */
  notify(wake: Wake): void;

  /**
   * Calls back when the database had forgotten what it had acknowledged, after what is in memory was sent again: what is
   * kept of runs elsewhere may be ahead of it. Returns how to stop.
   */
  onLoss(listener: (loss: HistoryLoss) => void): () => void;

  /** What the database's clock says. */
  nowMs(): Promise<number>;
  /**
   * Moves time on for every store with virtual time on this database; leases and signs of life move along. Returns what
   * time it is then.
   * @throws HoldfastError `OPTION_INVALID` when the store was opened without virtual time
   */
  skipTime(ms: number): Promise<number>;
  /** Counters since the start, for metrics and tests. */
  stats(): StoreStats;
  /** What is currently known of the database, without a query. */
  health(): DatabaseHealth;
  /** Lets queued writes finish (at most `timeoutMs`, default 5000), then closes every connection. */
  close(timeoutMs?: number): Promise<void>;
}

/** What one decision about a run changes: `Store.commit`. */
export interface Transition {
  readonly runId: string;
  /** The queue row must still carry this dispatch. Null = no fence. */
  readonly fence: Fence | null;
  /**
   * The head must have exactly this version; or must not have ended; or is not checked. With a version or "live" at
   * least one log row is needed: a head changes only together with the log. "live" with no row that is new changes
   * nothing, and wins with the version as it was.
   */
  readonly cas: number | "live" | null;
  readonly create?: NewRun;
  /** Facts that the log has already are not written again: the first one of a key stays. */
  readonly log: readonly LogRow[];
  /**
   * `seq` of the last log row that this was decided on: only later ones are searched for facts that are there already.
   * Default: all of the run's are.
   */
  readonly seen?: number;
  /**
   * A run that is FAILED or CANCELLED goes on with it; else an ended run changes no more. Needs `cas` with a version.
   */
  readonly revives?: true;
  /**
   * Needs `cas`. The version rises by one with every transition that has `cas` (see there for repeats), with a patch or
   * without.
   */
  readonly head?: HeadPatch;
  /** Needs `cas`. Ids of jobs of this run; removed before `addJobs` are added. */
  readonly removeJobs: readonly string[] | "all";
  /** Needs `cas`. Jobs of no run that are over with it, whatever their epochs are by now. */
  readonly endsJobs?: readonly string[];
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
  /**
   * It was stored before, and the database has forgotten it: its fence holds for a job that was claimed less often, since
   * the claim is forgotten, too. Only stores say so.
   */
  readonly resent?: true;
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
      /** For each fact of its log, in order, whether it was new. */
      readonly inserted: readonly boolean[];
      /** Of its new facts; null when there are none, or when that is not known any more. */
      readonly seq: number | null;
      /**
       * Which rows after `seen` the log had before: facts that it was not decided on, or of calls made at the same time.
       * Empty without `seen`. Null = not known any more: the connection broke before the answer was there.
       */
      readonly newer: readonly number[] | null;
      /** The head's version after it; null when the head was not checked. */
      readonly version: number | null;
      /** The database's time of the commit: `atMs` of its rows. */
      readonly atMs: number;
      /** Ids of those of its `events` for which an `event` job was made. */
      readonly awaited: readonly string[];
    }
  | { readonly won: false; readonly why: LostWhy };

/** What gateways of one database announce to each other. */
export type Wake =
  /** Jobs of these functions may be due. */
  | { readonly type: "JOBS_DUE"; readonly functionIds: readonly string[] }
  /** Jobs of these functions were put off, for gateways with a worker of their version. */
  | { readonly type: "JOBS_HELD"; readonly functionIds: readonly string[] }
  /** Jobs of these functions that no worker has had yet may be for another version now. */
  | { readonly type: "VERSIONS_CHANGED"; readonly functionIds: readonly string[] }
  /** The registry of functions changed. */
  | { readonly type: "REGISTRY_CHANGED" }
  /** These runs have ended: workers that have their work should stop it, callers that wait for them are answered. */
  | { readonly type: "RUNS_ENDED"; readonly runIds: readonly string[] }
  /** Callers wait for the end of these runs: who ends one says so. */
  | { readonly type: "RUNS_WATCHED"; readonly runIds: readonly string[] }
  /** These jobs are no more, though a worker may be at them. */
  | { readonly type: "JOBS_REMOVED"; readonly jobIds: readonly string[] }
  /**
   * These jobs were given out again, as these requests: workers that have one of them under an earlier epoch should
   * stop it.
   */
  | { readonly type: "JOBS_REDISPATCHED"; readonly requestIds: readonly string[] }
  /** Waits of these runs have ended while workers may be at passes of them, which are to be given what came. */
  | { readonly type: "WAITS_ENDED"; readonly runIds: readonly string[] }
  /** Something may have been missed. */
  | { readonly type: "ANYTHING" };
