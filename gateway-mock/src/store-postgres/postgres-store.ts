/**
 * The store's port on Postgres: binds its methods to the statements of the files beside it, and opens and closes the
 * connections. What each method guarantees is written in packages/store/src/port/store.ts.
 */
import {
  allEnded,
  createUlidFactory,
  HoldfastError,
  type Log,
  type Random,
  silentLog,
  systemClock,
  systemRandom,
  systemTimers,
  type Timers,
} from "@holdfast/core";
import {
  ACKNOWLEDGED_LIMITS,
  type AnnouncedJob,
  type CommitOutcome,
  checkTransition,
  functionsToAnnounce,
  type HistoryLoss,
  type IntakeItem,
  type IntakeOutcome,
  jobsOfItem,
  type LimitReads,
  notVirtual,
  type Store,
  type StoreReads,
  type StoreStats,
  type Transition,
  type WaitingReads,
} from "@holdfast/store";
import { changesOf } from "./changes/read-changes.ts";
import { openSummaries, type Summaries } from "./changes/summaries.ts";
import { type Database, OWN_CONNECTIONS, openDatabase } from "./connection/database.ts";
import { migrate } from "./connection/migrate.ts";
import { readSettingsBy } from "./connection/session-settings.ts";
import { skipTime, virtualTime } from "./connection/virtual-time.ts";
import { connectionsOf, listConnections, touchConnections } from "./connections.ts";
import { controlWrites } from "./controls.ts";
import { graphsOf } from "./graphs/graph-writes.ts";
import { limitUse, listCrons } from "./limits.ts";
import { overdueWork } from "./overdue-work.ts";
import { adoptLanes } from "./queue/adopted-lanes.ts";
import { loadCron, repairCrons, saveCrons } from "./queue/crons.ts";
import { KeptClaims } from "./queue/kept-claims.ts";
import { loadEvents, loadWindow, openWindows, postponeJob } from "./queue/windows.ts";
import { allBounds, type Bounds, queueOf } from "./queue-calls.ts";
import { eventsOfKeys, getEvent, listEvents, queueDepthOf, readsOfRuns, storedEvents } from "./reads.ts";
import {
  loadRegistry,
  loadSecret,
  recentBuilds,
  registryMark,
  registryVersion,
  saveApps,
  touchGateway,
} from "./registry.ts";
import { repairsOf } from "./repair/repairs.ts";
import { previewPrune } from "./retention/preview.ts";
import { retentionOf } from "./retention/retention.ts";
import { tableSizesOf } from "./retention/sizes.ts";
import { listRuns } from "./run-list.ts";
import { DEFAULT_TABLE_PARTITION_MS, openTablePartitions, type TablePartitions } from "./table-partitions.ts";
import { tidierOf } from "./tidy.ts";
import { openRuns, placesTaken, unmovedRuns } from "./waiting.ts";
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
  /**
   * Of acknowledged writes that are kept for half a minute, to be sent again to a database that has forgotten them; 0 =
   * none. Default 64 MiB.
   */
  readonly resendMemoryBytes?: number;
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
  const bounds = allBounds(database);
  const { writer, claims, losses } = openWriter(database, storeId, bounds, options.resendMemoryBytes);
  const wakes = openWakes(database, storeId);

  return {
    ...readsOf(database),
    ...changesOf(database),
    ...writesOf(writer, wakes),
    ...queueOf(database, { nextId, random, bounds, claims }),
    ...registryOf(database, wakes, partitions, summaries),
    ...controlWrites(database, wakes.notify),
    ...flowOf(database),
    ...retentionOf(database, tablePartitionMs),
    ...repairsOf(database),
    ...graphsOf(database, wakes.notify),
    async migrate() {
      const settingsBy = await readSettingsBy(url);
      database.sessions.setSettingsBy(settingsBy);
      await migrate(url, { tablePartitionMs, settingsBy, log });
    },
    async skipTime(ms) {
      if (!time) throw notVirtual();
      const nowMs = await skipTime(database, time, ms);
      wakes.notify({ type: "ANYTHING" });
      return nowMs;
    },
    onLoss(listener) {
      losses.add(listener);
      return () => losses.delete(listener);
    },
    onWake: wakes.onWake,
    notify: wakes.notify,
    stats: () => statsOf(writer),
    health: () => ({ ...database.availability.health(), commitsLost: writer.lost }),
    async close(timeoutMs = 5000) {
      await writer.drain(timeoutMs);
      await writer.close();
      await Promise.all([wakes.close(), database.close()]);
    },
  };
}

const statsOf = (writer: GroupCommit): StoreStats => ({
  batches: writer.stats.batches,
  optimisticBatches: writer.stats.optimistic,
  transitions: writer.stats.units,
  statements: writer.stats.statements,
  logRows: writer.stats.logRows,
  staleWrites: writer.stats.staleWrites,
  duplicateRows: writer.stats.duplicateRows,
  batchRetries: writer.stats.retries,
  lostBatches: writer.stats.lostBatches,
  lostWrites: writer.stats.lostWrites,
  restoredWrites: writer.stats.restoredWrites,
  incompleteRuns: writer.stats.incompleteRuns,
  queued: writer.waiting,
  commitMs: Math.round(writer.stats.busyMs),
  commitSeconds: writer.stats.histograms.seconds.read(),
  commitUnits: writer.stats.histograms.units.read(),
});

interface OpenWriter {
  readonly writer: GroupCommit;
  readonly claims: KeptClaims;
  /** Who hears of what the database had forgotten. */
  readonly losses: Set<(loss: HistoryLoss) => void>;
}

function openWriter(
  database: Database,
  storeId: string,
  bounds: Bounds,
  maxBytes: number = ACKNOWLEDGED_LIMITS.maxBytes,
): OpenWriter {
  const losses: OpenWriter["losses"] = new Set();
  const limits = { ...ACKNOWLEDGED_LIMITS, maxBytes };
  const claims = new KeptClaims(limits.keptMs, database.options.monotonicMs);
  const writer = openGroupCommit(database, storeId, {
    limits,
    restoreClaims: () => claims.restore(),
    onLoss(loss) {
      // Jobs that had been done are due again, since long ago.
      bounds.all.forget();
      for (const listener of losses) listener(loss);
    },
  });
  database.doubts.settleWith(() => writer.verify());
  return { writer, claims, losses };
}

function writesOf(writer: GroupCommit, wakes: Wakes): Pick<Store, "commit" | "intake"> {
  const announceJobs = (jobs: readonly AnnouncedJob[]): void => {
    const functionIds = functionsToAnnounce(jobs);
    if (functionIds.length > 0) wakes.notify({ type: "JOBS_DUE", functionIds });
  };
  const write = (transition: Transition): Promise<CommitOutcome> => {
    try {
      checkTransition(transition);
    } catch (error) {
      return Promise.reject(error);
    }
    return writer.commit(transition);
  };
  const writeAndAnnounce = async (transition: Transition): Promise<CommitOutcome> => {
    const outcome = await write(transition);
    const { addJobs, events = [] } = transition;
    if (outcome.won) announceJobs([...addJobs, ...events.flatMap((item) => jobsOfItem(item, outcome.awaited))]);
    return outcome;
  };
  const takeIn = async (item: IntakeItem): Promise<IntakeOutcome> => {
    const outcome = await writer.intake(item);
    const { duplicate, awaited } = outcome;
    if (!duplicate) announceJobs(jobsOfItem(item, awaited ? [item.event.id] : []));
    return outcome;
  };
  return {
    commit(transition) {
      const { addJobs, events } = transition;
      // Finished steps have neither, and are most of all writes: the writer's own promise is enough for them.
      return addJobs.length === 0 && events === undefined ? write(transition) : writeAndAnnounce(transition);
    },
    intake: (items) => allEnded(items.map(takeIn)),
  };
}

function flowOf({
  query,
}: Database): Pick<
  Store,
  "adoptLanes" | "postponeJob" | "loadWindow" | "loadEvents" | "saveCrons" | "repairCrons" | "loadCron"
> {
  return {
    adoptLanes: (adoptions, version) => adoptLanes(query, adoptions, version ?? null),
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
  | "registryMark"
  | "recentBuilds"
  | "saveConnection"
  | "removeConnections"
  | "touchConnections"
  | "touchGateway"
> {
  const tidy = tidierOf(database);
  return {
    async saveApps(apps, registration) {
      const { functions, changed } = await saveApps(database, apps, registration);
      if (changed) wakes.notify({ type: "REGISTRY_CHANGED" });
      return functions;
    },
    ...connectionsOf(database),
    secret: () => loadSecret(database),
    loadRegistry: () => loadRegistry(database),
    registryVersion: () => registryVersion(database),
    registryMark: () => registryMark(database),
    recentBuilds: (appId, version) => recentBuilds(database, appId, version),
    touchGateway: (gatewayId) => touchGateway(database, gatewayId),
    async touchConnections(gatewayId, staleAfterMs) {
      await touchConnections(database, gatewayId, staleAfterMs);
      await partitions.keep();
      await tidy();
      await summaries.keep();
    },
  };
}

function readsOf(database: Database): StoreReads & WaitingReads & LimitReads {
  const { query } = database;
  return {
    openRuns: (runIds) => openRuns(query, runIds),
    placesTaken: (asked) => placesTaken(query, asked),
    overdueWork: (asked) => overdueWork(query, asked),
    limitUse: (functionIds) => limitUse(query, functionIds),
    listCrons: () => listCrons(query),
    openWindows: (functionIds) => openWindows(query, functionIds),
    unmovedRuns: (page) => unmovedRuns(query, page),
    listRuns: (filter) => listRuns(database, filter),
    ...readsOfRuns(database),
    listEvents: (filter) => listEvents(database, filter),
    getEvent: (eventId) => getEvent(database, eventId),
    storedEvents: (eventIds) => storedEvents(database.query, eventIds),
    eventsOfKeys: (keys, ofGraphs) => eventsOfKeys(database, keys, ofGraphs),
    listConnections: (filter) => listConnections(database, filter),
    queueDepth: queueDepthOf(database),
    tableSizes: tableSizesOf(database),
    previewPrune: (policy, environment) => previewPrune(database, policy, environment),
    ping: () => database.once("SELECT 1 AS one", PING_MS),
  };
}
