import type { FlowStore } from "./flow.ts";
import type { DatabaseHealth, StoreStats } from "./health.ts";
import type { IntakeItem, IntakeOutcome } from "./intake.ts";
import type { ClaimedJob, ClaimRequest, Fence, LeaseExtension, LeaseRelease } from "./job.ts";
import type { AppRecord, ConnectionRecord, StoredFunction, StoredRegistry } from "./registration.ts";
import type { StoredRun } from "./run.ts";
import type { StoreReads } from "./store-reads.ts";
import type { CommitOutcome, Transition } from "./transition.ts";
import type { StoredWait, WaitQuery } from "./wait.ts";
import type { Wake } from "./wake.ts";

/**
 * The store's port: the only way to durable state. Its one implementation is `openPostgresStore`; the conformance suite
 * in `test/store` is its contract.
 *
 * Words. A *job* is a row of the queue. A *dispatch* of it is named by the job's id and its `epoch`, which rises only
 * when the job is claimed again, or given to another worker. A *transition* is everything that one decision changes, all or nothing.
 *
 * Time. The database's clock alone decides what is due and how long a lease lasts, so gateways with skewed clocks agree;
 * times come back as whole milliseconds since the epoch. JSON goes in and out as text, verbatim (fields `...Json`).
 *
 * Failure. Every method rejects with a `HoldfastError`: `STORE_FAILED` when the database refused permanently or stayed away
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
   * `cas`, `fence` and `create` are looked at under row locks, so no one can come in between. A transition with a fence,
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
   * released: while no worker has claimed the job again, its worker keeps it. True for each that was still this dispatch.
   * With `next` the epoch rises, so that what comes under the old one is late from now on; the job is never free between.
   */
  extendLeases(leases: readonly LeaseExtension[]): Promise<readonly boolean[]>;

  /**
   * Ends leases at once: the jobs are due now. The epoch stays, so a late result is welcome until another gateway claims again.
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

  /** Random text, made with the schema, that only the gateways of this database know: what proves something is signed with it. */
  secret(): Promise<string>;

  /**
   * Uses up the session token that was made for this connection: false when it was used before, at whatever gateway.
   * It is remembered for `lifetimeMs`, after which the token has ended by itself.
   */
  useToken(connectionId: string, lifetimeMs: number): Promise<boolean>;

  /** What the database's clock says. */
  nowMs(): Promise<number>;

  /** How long until the next job of these functions is due (0 = one is due now, leased ones count at their lease's end); null = none. */
  nextDueInMs(functionIds: readonly string[]): Promise<number | null>;

  /**
   * Says that these deployments of apps are there (again); returns all functions of the apps as stored, with the uuid each
   * got when first seen. A deployment that was never seen before is the newest of its app: its functions are as it has
   * them, and those it does not have are no longer active. An older one changes nothing while a newer one is there: it was
   * said so of it within the last minute. All or nothing.
   * @throws HoldfastError `FUNCTION_TAKEN` when another app has a function of the same slug: a deployment that was there
   *   within the last minute has it, or runs of it have not ended
   */
  saveApps(apps: readonly AppRecord[]): Promise<readonly StoredFunction[]>;
  loadRegistry(): Promise<StoredRegistry>;
  /** Of the registry as it is now: equal to that of a `StoredRegistry` while that one is current. */
  registryVersion(): Promise<number>;

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
   * comes when listening begins, and again after a lost connection, since notifications may have been missed. Correctness must not need it. Returns how to stop.
   */
  onWake(listener: (wake: Wake) => void): () => void;
  /** Tells the others, soon; never rejects. Jobs that were put due now and not leased on creation announce themselves. */
  notify(wake: Wake): void;

  /** Counters since the start, for metrics and tests. */
  stats(): StoreStats;

  /** What is known of the database at the moment; asks no one. */
  health(): DatabaseHealth;

  /** Lets queued writes finish (at most `timeoutMs`, default 5000), then closes every connection. */
  close(timeoutMs?: number): Promise<void>;
}
