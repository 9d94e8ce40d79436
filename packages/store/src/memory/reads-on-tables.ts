/** The part of the store over tables that people read from, and that deletes what they no longer want. */
import type { StoreBulk } from "../port/bulk.ts";
import type { StoreReads } from "../port/reads.ts";
import type { StoreRepairs } from "../port/repair.ts";
import type { WaitingReads } from "../port/waiting.ts";
import { bulkPage, createBulkJob, listBulkJobs, saveBulkProgress, stopBulkJob } from "./bulk.ts";
import { deleteRuns, descendantsOf } from "./repairs.ts";
import { previewPrune, tableSizes } from "./retention.ts";
import type { Tables } from "./tables.ts";
import { openRuns, placesTaken, unmovedRuns } from "./waiting-reads.ts";

/** How single statements get to the tables. */
export interface StatementAccess {
  /** Takes effect at one moment. */
  call<T>(apply: () => T): Promise<T>;
}

type Reads = StoreReads & WaitingReads & StoreRepairs & StoreBulk;

export class ReadsOnTables implements Reads {
  readonly #tables: Tables;
  readonly #access: StatementAccess;

  constructor(tables: Tables, access: StatementAccess) {
    this.#tables = tables;
    this.#access = access;
  }

  listRuns(filter: Parameters<Reads["listRuns"]>[0]): ReturnType<Reads["listRuns"]> {
    const { events, runsTable } = this.#tables;
    const ofEvent = (): readonly string[] | null =>
      filter.eventId === undefined ? null : (events.get(filter.eventId)?.runIds ?? []);
    return this.#access.call(() => runsTable.list(filter, ofEvent()));
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

  listConnections(): ReturnType<Reads["listConnections"]> {
    return this.#access.call(() => this.#tables.registry.connections());
  }

  openRuns(runIds: readonly string[]): ReturnType<Reads["openRuns"]> {
    return this.#access.call(() => openRuns(this.#tables, runIds));
  }

  placesTaken(asked: Parameters<Reads["placesTaken"]>[0]): ReturnType<Reads["placesTaken"]> {
    return this.#access.call(() => placesTaken(this.#tables, asked));
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

  tableSizes(): ReturnType<Reads["tableSizes"]> {
    return this.#access.call(() => tableSizes(this.#tables));
  }

  previewPrune(...[policy, environment]: Parameters<Reads["previewPrune"]>): ReturnType<Reads["previewPrune"]> {
    return this.#access.call(() => previewPrune(this.#tables, policy, environment));
  }
}
