/**
 * The store's port on Postgres: binds its methods to the statements of the files beside it, and opens and closes the
 * connections. What each method guarantees is written in packages/store/src/port/store.ts.
 */
import {
  createUlidFactory,
  HoldfastError,
  invariant,
  type Log,
  type Random,
  silentLog,
  systemClock,
  systemRandom,
  systemTimers,
  type Timers,
} from "@holdfast/core";
import {
  type AnnouncedJob,
  checkTransition,
  functionsToAnnounce,
  type IntakeItem,
  type IntakeOutcome,
  jobsOfItem,
  notVirtual,
  type Store,
  type StoreReads,
  type WaitingReads,
} from "@holdfast/store";
import { changesOf } from "./changes/read-changes.ts";
import { openSummaries, type Summaries } from "./changes/summaries.ts";
import { type Database, OWN_CONNECTIONS, openDatabase } from "./connection/database.ts";
import { migrate } from "./connection/migrate.ts";
import { msOf } from "./connection/pg-values.ts";
import { skipTime, virtualTime } from "./connection/virtual-time.ts";
import { controlWrites } from "./controls.ts";
import { earlierEvents } from "./earlier-events.ts";
import { loadCron, repairCrons, saveCrons } from "./queue/crons.ts";
import { DueBounds } from "./queue/due-bounds.ts";
import { claim, extendLeases, nextDueInMs, recallJobs, releaseLeases } from "./queue/leases.ts";
import { adoptLanes, claimLimited } from "./queue/limited-claims.ts";
import { loadEvents, loadWindow, postponeJob } from "./queue/windows.ts";
import { getEvent, listEvents, queueDepthOf, readsOfRuns } from "./reads.ts";
import {
  listConnections,
  loadRegistry,
  loadSecret,
  registryVersion,
  removeConnections,
  saveApps,
  saveConnection,
  touchConnections,
  touchGateway,
  useToken,
} from "./registry.ts";
import { originsTidier } from "./repair/origins.ts";
import { repairsOf } from "./repair/repairs.ts";
import { previewPrune } from "./retention/preview.ts";
import { retentionOf } from "./retention/retention.ts";
import { tableSizesOf } from "./retention/sizes.ts";
import { listRuns } from "./run-list.ts";
import { loadRuns } from "./run-loader.ts";
import { DEFAULT_TABLE_PARTITION_MS, openTablePartitions, type TablePartitions } from "./table-partitions.ts";
import { openRuns, placesTaken, unmovedRuns } from "./waiting.ts";
import { coalescedWaits } from "./waits.ts";
import { openWakes, type Wakes } from "./wakes.ts";
import { type GroupCommit, openGroupCommit } from "./writer/group-commit.ts";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** All connections of this store together, 3 to 100. Default 10. */
  readonly maxConnections?: number;
  /** How long calls wait for a database that went away. Default 60,000. */
  readonly retryForMs?: number;
  readonly clock?: { monotonicMs(): number; nowMs(): number };
  readonly timers?: Timers;
  readonly random?: Random;
  readonly log?: Log;
  /** How much time a partition of the tables of runs, logs and events is for. Default a week. */
  readonly tablePartitionMs?: number;
  /** Time can be moved with `skipTime`. For tests, on a database of their own; all its gateways must have it. */
  readonly virtualTime?: boolean;
}

export const DEFAULT_MAX_CONNECTIONS = 10;
export const DEFAULT_RETRY_FOR_MS = 60_000;
const PING_MS = 2_000;

/** Opens no connection yet; `migrate` is the first call that does. */
export function openPostgresStore(options: PostgresStoreOptions): Store {
  const { url, clock = systemClock, timers = systemTimers, random = systemRandom, log = silentLog } = options;
  const maxConnections = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS;
  if (!Number.isInteger(maxConnections) || maxConnections <= OWN_CONNECTIONS || maxConnections > 100) {
    throw new HoldfastError("OPTION_INVALID", `maxConnections must be 3 to 100, not ${maxConnections}.`);
  }
  const nextId = createUlidFactory(clock, random);
  const storeId = nextId();
  const time = options.virtualTime ? virtualTime() : null;
  const database = openDatabase({
    url,
    maxConnections,
    retryForMs: options.retryForMs ?? DEFAULT_RETRY_FOR_MS,
    timers,
    random,
    log,
    monotonicMs: () => clock.monotonicMs(),
    ...(time ? { time } : {}),
  });
  const tablePartitionMs = options.tablePartitionMs ?? DEFAULT_TABLE_PARTITION_MS;
  const partitions = openTablePartitions(database, tablePartitionMs);
  const summaries = openSummaries(database);
  const writer = openGroupCommit(database, storeId);
  const wakes = openWakes(database, storeId);

  return {
    ...readsOf(database),
    ...changesOf(database),
    ...writesOf(writer, wakes),
    ...queueOf(database, nextId, random),
    ...registryOf(database, wakes, partitions, summaries),
    ...controlWrites(database, wakes.notify),
    ...flowOf(database),
    ...retentionOf(database, tablePartitionMs),
    ...repairsOf(database),
    migrate: () => migrate(url, { tablePartitionMs }),
    async skipTime(ms) {
      if (!time) throw notVirtual();
      const nowMs = await skipTime(database, time, ms);
      wakes.notify({ type: "ANYTHING" });
      return nowMs;
    },
    onWake: wakes.onWake,
    notify: wakes.notify,
    stats: () => ({
      batches: writer.stats.batches,
      optimisticBatches: writer.stats.optimistic,
      transitions: writer.stats.units,
      statements: writer.stats.statements,
      logRows: writer.stats.logRows,
      staleWrites: writer.stats.staleWrites,
      duplicateRows: writer.stats.duplicateRows,
      batchRetries: writer.stats.retries,
      lostBatches: writer.stats.lostBatches,
      queued: writer.waiting,
      commitMs: Math.round(writer.stats.busyMs),
      commitSeconds: writer.stats.histograms.seconds.read(),
      commitUnits: writer.stats.histograms.units.read(),
    }),
    health: () => database.availability.health(),
    async close(timeoutMs = 5000) {
      await writer.drain(timeoutMs);
      await writer.close();
      await Promise.all([wakes.close(), database.close()]);
    },
  };
}

function writesOf(writer: GroupCommit, wakes: Wakes): Pick<Store, "commit" | "intake"> {
  const announceJobs = (jobs: readonly AnnouncedJob[]): void => {
    const functionIds = functionsToAnnounce(jobs);
    if (functionIds.length > 0) wakes.notify({ type: "JOBS_DUE", functionIds });
  };
  const takeIn = async (item: IntakeItem): Promise<IntakeOutcome> => {
    const result = await writer.submit({ type: "intake", item });
    invariant(result.type === "intake", "an outcome answers its unit");
    const { duplicate, awaited } = result.outcome;
    if (!duplicate) announceJobs(jobsOfItem(item, awaited ? [item.event.id] : []));
    return result.outcome;
  };
  return {
    async commit(transition) {
      checkTransition(transition);
      const result = await writer.submit({ type: "transition", transition });
      invariant(result.type === "transition", "an outcome answers its unit");
      if (result.outcome.won) {
        const { awaited } = result.outcome;
        announceJobs([
          ...transition.addJobs,
          ...(transition.events ?? []).flatMap((item) => jobsOfItem(item, awaited)),
        ]);
      }
      return result.outcome;
    },
    intake: (items) => Promise.all(items.map(takeIn)),
  };
}

function queueOf(
  database: Database,
  nextId: () => string,
  random: Random,
): Pick<
  Store,
  | "claim"
  | "claimLimited"
  | "extendLeases"
  | "releaseLeases"
  | "recallJobs"
  | "finishJob"
  | "findWaits"
  | "waitPaths"
  | "scanEvents"
  | "writesUnderWay"
  | "loadRuns"
  | "nextDueInMs"
  | "nowMs"
> {
  const { query } = database;
  const bounds = new DueBounds(database.options.monotonicMs);
  const limitedBounds = new DueBounds(database.options.monotonicMs);
  const allBounds = {
    forget() {
      bounds.forget();
      limitedBounds.forget();
    },
  };
  return {
    claim: (request) => claim(database, bounds, nextId(), request),
    claimLimited: (request) => claimLimited(database, limitedBounds, nextId(), laneToStartAt(random), request),
    extendLeases: (leases) => extendLeases(query, leases),
    recallJobs: (wants) => recallJobs(query, allBounds, wants),
    releaseLeases: (leases) => releaseLeases(query, leases),
    ...coalescedWaits(query),
    ...earlierEvents(query),
    loadRuns: (runIds) => loadRuns(query, runIds),
    nextDueInMs: (functionIds) => nextDueInMs(query, bounds, functionIds),
    async nowMs() {
      const [row] = await query<{ now_ms: number }>(`SELECT ${msOf("clock_timestamp()")} AS now_ms`);
      return Number(row?.now_ms);
    },
  };
}

/** Ids of lanes are hexadecimal digits of a hash, so each has its turn. */
const laneToStartAt = (random: Random): string =>
  Math.floor(random() * 65_536)
    .toString(16)
    .padStart(4, "0");

function flowOf({
  query,
}: Database): Pick<
  Store,
  "adoptLanes" | "postponeJob" | "loadWindow" | "loadEvents" | "saveCrons" | "repairCrons" | "loadCron"
> {
  return {
    adoptLanes: (functionIds) => adoptLanes(query, functionIds),
    postponeJob: (fence, delayMs) => postponeJob(query, fence, delayMs),
    loadWindow: (window) => loadWindow(query, window),
    loadEvents: (eventIds) => loadEvents(query, eventIds),
    saveCrons: (appIds, functions, crons) => saveCrons(query, appIds, functions, crons),
    repairCrons: (crons) => repairCrons(query, crons),
    loadCron: (functionId, cron) => loadCron(query, functionId, cron),
  };
}

function registryOf(
  database: Database,
  wakes: Wakes,
  partitions: TablePartitions,
  summaries: Summaries,
): Pick<
  Store,
  | "secret"
  | "useToken"
  | "saveApps"
  | "loadRegistry"
  | "registryVersion"
  | "saveConnection"
  | "removeConnections"
  | "touchConnections"
  | "touchGateway"
> {
  const tidyOrigins = originsTidier(database);
  return {
    async saveApps(apps) {
      const { functions, changed } = await saveApps(database, apps);
      if (changed) wakes.notify({ type: "REGISTRY_CHANGED" });
      return functions;
    },
    secret: () => loadSecret(database),
    useToken: (connectionId, lifetimeMs) => useToken(database, connectionId, lifetimeMs),
    loadRegistry: () => loadRegistry(database),
    registryVersion: () => registryVersion(database),
    saveConnection: (connection) => saveConnection(database, connection),
    removeConnections: (ids) => removeConnections(database, ids),
    touchGateway: (gatewayId) => touchGateway(database, gatewayId),
    async touchConnections(gatewayId, staleAfterMs) {
      await touchConnections(database, gatewayId, staleAfterMs);
      await partitions.keep();
      await tidyOrigins();
      await summaries.keep();
    },
  };
}

function readsOf(database: Database): StoreReads & WaitingReads {
  const { query } = database;
  return {
    openRuns: (runIds) => openRuns(query, runIds),
    placesTaken: (asked) => placesTaken(query, asked),
    unmovedRuns: (page) => unmovedRuns(query, page),
    listRuns: (filter) => listRuns(database, filter),
    ...readsOfRuns(database),
    listEvents: (filter) => listEvents(database, filter),
    getEvent: (eventId) => getEvent(database, eventId),
    listConnections: () => listConnections(database),
    queueDepth: queueDepthOf(database),
    tableSizes: tableSizesOf(database),
    previewPrune: (policy, environment) => previewPrune(database, policy, environment),
    ping: () => database.once("SELECT 1 AS one", PING_MS),
  };
}
