/** The part of the store over tables that people read from, and that deletes what they no longer want. */
import type { StoreBulk } from "../port/bulk.ts";
import type { StoreGraphs } from "../port/graphs.ts";
import type { LimitReads } from "../port/limits.ts";
import type { ConnectionFilter, EventKey, GraphRunKey, StoreReads } from "../port/reads.ts";
import type { StoredRegistry } from "../port/registry.ts";
import type { StoreRepairs } from "../port/repair.ts";
import { MAX_OPEN_WINDOWS, type WaitingReads } from "../port/waiting.ts";
import { bulkPage, createBulkJob, listBulkJobs, saveBulkProgress, stopBulkJob } from "./bulk.ts";
import { limitUse, listCrons } from "./limit-reads.ts";
import { deleteRuns, descendantsOf } from "./repairs.ts";
import { previewPrune, tableSizes } from "./retention.ts";
import type { Tables } from "./tables.ts";
import { openRuns, overdueWork, placesTaken, unmovedRuns } from "./waiting-reads.ts";

/** How single statements get to the tables. */
export interface StatementAccess {
  /** Takes effect at one moment. */
  call<T>(apply: () => T): Promise<T>;
}

type GraphReads = Pick<
  StoreGraphs,
  "getGraph" | "getGraphVersion" | "listGraphVersions" | "listGraphs" | "graphRuns" | "graphNames" | "oldGraphTests"
>;
type Reads = StoreReads & WaitingReads & LimitReads & StoreRepairs & StoreBulk & GraphReads;

export class ReadsOnTables implements Reads {
  readonly #tables: Tables;
  readonly #access: StatementAccess;

  constructor(tables: Tables, access: StatementAccess) {
    this.#tables = tables;
    this.#access = access;
  }

  listRuns(filter: Parameters<Reads["listRuns"]>[0]): ReturnType<Reads["listRuns"]> {
    const { events, runsTable, graphs } = this.#tables;
    const isOfGraph = (runId: string): boolean => {
      const mark = graphs.markOf(runId);
      if (filter.graphUid !== undefined && mark?.uid !== filter.graphUid) return false;
      return filter.test === undefined || (mark?.test ?? false) === filter.test;
    };
    const ofEvents = (): ReadonlySet<string> | null =>
      filter.eventIds ? new Set(filter.eventIds.flatMap((id) => events.get(id)?.runIds ?? [])) : null;
    return this.#access.call(() => runsTable.list(filter, ofEvents(), isOfGraph));
  }

  getRun(runId: string): ReturnType<Reads["getRun"]> {
    return this.#access.call(() => this.#tables.detail(runId));
  }

  endsOf(runIds: readonly string[]): ReturnType<Reads["endsOf"]> {
    return this.#access.call(() => this.#tables.endsOf(runIds));
  }

  listEvents(filter: Parameters<Reads["listEvents"]>[0]): ReturnType<Reads["listEvents"]> {
    return this.#access.call(() => this.#tables.eventTable.list(filter));
  }

  getEvent(eventId: string): ReturnType<Reads["getEvent"]> {
    return this.#access.call(() => this.#tables.eventTable.detail(eventId));
  }

  storedEvents(eventIds: readonly string[]): ReturnType<Reads["storedEvents"]> {
    return this.#access.call(() => eventIds.filter((id) => this.#tables.events.has(id)));
  }

  eventsOfKeys(...[keys, ofGraphs]: Parameters<Reads["eventsOfKeys"]>): ReturnType<Reads["eventsOfKeys"]> {
    const { eventTable, graphs } = this.#tables;
    const keysOfGraphs = ({ name, key, environment }: GraphRunKey): EventKey[] =>
      graphs.uidsIn(environment).map((uid) => ({ name, key: `${uid}\n${key}` }));
    return this.#access.call(() => eventTable.ofKeys([...keys, ...(ofGraphs ? keysOfGraphs(ofGraphs) : [])]));
  }

  loadRegistry(): Promise<StoredRegistry> {
    return this.#access.call(() => this.#tables.registry.load());
  }

  registryVersion(): Promise<number> {
    return this.#access.call(() => this.#tables.registry.version);
  }

  registryMark(): Promise<string> {
    return this.#access.call(() => this.#tables.registry.mark());
  }

  recentBuilds(appId: string, version: string): Promise<readonly string[]> {
    return this.#access.call(() => this.#tables.registry.recentBuilds(appId, version));
  }

  listConnections({ instanceId, exceptGatewayId }: ConnectionFilter = {}): ReturnType<Reads["listConnections"]> {
    return this.#access.call(() =>
      this.#tables.registry
        .connections()
        .filter((one) => one.gatewayId !== exceptGatewayId && (instanceId ?? one.instanceId) === one.instanceId),
    );
  }

  openRuns(runIds: readonly string[]): ReturnType<Reads["openRuns"]> {
    return this.#access.call(() => openRuns(this.#tables, runIds));
  }

  placesTaken(asked: Parameters<Reads["placesTaken"]>[0]): ReturnType<Reads["placesTaken"]> {
    return this.#access.call(() => placesTaken(this.#tables, asked));
  }

  overdueWork(asked: Parameters<Reads["overdueWork"]>[0]): ReturnType<Reads["overdueWork"]> {
    return this.#access.call(() => overdueWork(this.#tables, asked));
  }

  limitUse(functionIds: readonly string[]): ReturnType<Reads["limitUse"]> {
    return this.#access.call(() => limitUse(this.#tables, functionIds));
  }

  listCrons(): ReturnType<Reads["listCrons"]> {
    return this.#access.call(() => listCrons(this.#tables));
  }

  openWindows(functionIds: readonly string[]): ReturnType<Reads["openWindows"]> {
    return this.#access.call(() => this.#tables.flowRules.openWindows(functionIds, MAX_OPEN_WINDOWS));
  }

  unmovedRuns(page: Parameters<Reads["unmovedRuns"]>[0]): ReturnType<Reads["unmovedRuns"]> {
    return this.#access.call(() => unmovedRuns(this.#tables, page));
  }

  queueDepth(): ReturnType<Reads["queueDepth"]> {
    return this.#access.call(() => this.#tables.jobs.depth());
  }

  ping(): Promise<void> {
    return this.#access.call(() => {});
  }

  createBulkJob(...[bulk, job]: Parameters<Reads["createBulkJob"]>): Promise<void> {
    return this.#access.call(() => createBulkJob(this.#tables, bulk, job));
  }

  loadBulkJob(id: string): ReturnType<Reads["loadBulkJob"]> {
    return this.#access.call(() => this.#tables.bulkJobs.get(id) ?? null);
  }

  listBulkJobs(environment: string, limit: number): ReturnType<Reads["listBulkJobs"]> {
    return this.#access.call(() => listBulkJobs(this.#tables, environment, limit));
  }

  saveBulkProgress(...[id, fence, progress, isOver]: Parameters<Reads["saveBulkProgress"]>): Promise<boolean> {
    return this.#access.call(() => saveBulkProgress(this.#tables, id, fence, { progress, isOver }));
  }

  stopBulkJob(id: string): Promise<boolean> {
    return this.#access.call(() => stopBulkJob(this.#tables, id));
  }

  bulkPage(...[filter, beforeId, limit]: Parameters<Reads["bulkPage"]>): ReturnType<Reads["bulkPage"]> {
    return this.#access.call(() => bulkPage(this.#tables, filter, beforeId, limit));
  }

  deleteRuns(runIds: readonly string[]): ReturnType<Reads["deleteRuns"]> {
    return this.#access.call(() => deleteRuns(this.#tables, runIds));
  }

  descendantsOf(runId: string, limit: number): ReturnType<Reads["descendantsOf"]> {
    return this.#access.call(() => descendantsOf(this.#tables, runId, limit));
  }

  getGraph(name: Parameters<Reads["getGraph"]>[0]): ReturnType<Reads["getGraph"]> {
    return this.#access.call(() => this.#tables.graphs.get(name));
  }

  getGraphVersion(uid: string, version: number): ReturnType<Reads["getGraphVersion"]> {
    return this.#access.call(() => this.#tables.graphs.version(uid, version));
  }

  listGraphVersions(...asked: Parameters<Reads["listGraphVersions"]>): ReturnType<Reads["listGraphVersions"]> {
    return this.#access.call(() => this.#tables.graphs.versions(...asked));
  }

  listGraphs(filter: Parameters<Reads["listGraphs"]>[0]): ReturnType<Reads["listGraphs"]> {
    return this.#access.call(() => this.#tables.graphs.list(filter));
  }

  graphRuns(runIds: readonly string[]): ReturnType<Reads["graphRuns"]> {
    const markOf = (id: string) => this.#tables.graphs.markOf(id);
    return this.#access.call(() => {
      const marks = runIds.map((id) => [id, markOf(id)] as const);
      return new Map(marks.flatMap(([id, mark]) => (mark ? [[id, mark] as const] : [])));
    });
  }

  graphNames(uids: readonly string[]): ReturnType<Reads["graphNames"]> {
    const nameOf = (uid: string) => this.#tables.graphs.nameOf(uid);
    return this.#access.call(() => {
      const names = uids.map((uid) => [uid, nameOf(uid)] as const);
      return new Map(names.flatMap(([uid, name]) => (name ? [[uid, name] as const] : [])));
    });
  }

  oldGraphTests(olderThanMs: number, limit: number): ReturnType<Reads["oldGraphTests"]> {
    const isOnHold = (runId: string): boolean => (this.#tables.runs.get(runId)?.hold ?? null) !== null;
    return this.#access.call(() => this.#tables.graphs.oldTests(olderThanMs, limit, isOnHold));
  }

  tableSizes(): ReturnType<Reads["tableSizes"]> {
    return this.#access.call(() => tableSizes(this.#tables));
  }

  previewPrune(...[policy, environment]: Parameters<Reads["previewPrune"]>): ReturnType<Reads["previewPrune"]> {
    return this.#access.call(() => previewPrune(this.#tables, policy, environment));
  }
}
