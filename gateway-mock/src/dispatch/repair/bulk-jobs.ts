/**
 * Carries bulk jobs out: page by page of runs, a few at a time, at whichever gateway has the job's lease
 * (docs/decisions/0093).
 */
import { createUlidFactory, HoldfastError, messageOf, sleep, type UlidFactory, ulidFromSeed } from "@holdfast/core";
import { NEWER_QUEUE, sha256 } from "@holdfast/engine";
import {
  type BulkAction,
  type BulkFilter,
  type BulkJob,
  type BulkPage,
  type BulkProgress,
  type Fence,
  levelFor,
  NEWEST_RUN,
} from "@holdfast/store";
import type { AfterRequest, Emit } from "../dispatcher-effects.ts";
import type { DispatcherOptions } from "../ports.ts";
import { BulkActions, type BulkActionsParts } from "./bulk-actions.ts";
import { bulkIdOf, madeBy } from "./bulk-names.ts";
import type { WantedVersion } from "./repairs.ts";

export interface BulkRequest {
  readonly action: BulkAction;
  readonly filter: BulkFilter;
  readonly version: WantedVersion;
  /** Also runs of which another one was made. */
  readonly again: boolean;
}

/** How many runs fit, and the first of them. */
export interface BulkPreview {
  /** At least so many, where there are more. */
  readonly count: number;
  /** Not all were counted. */
  readonly isMore: boolean;
  readonly runIds: readonly string[];
  /** How many fit as well, and were run again already. */
  readonly leftOut: number;
}

export const BULK_LEASE_MS = 20_000;
const JOBS_AT_ONCE = 2;
/** Runs that are looked at in one statement, and whose logs may be read at the same time. */
const PAGE = 500;
const CHUNK = 50;
const RUNS_AT_ONCE = 25;
/** Of its time a job works at most half, and rests at least so long between two chunks. */
const LEAST_REST_MS = 5;
const AFTER_FAILURE_MS = 1_000;
const MAX_ERRORS = 10;
const COUNTED_PAGES = 200;
const SHOWN_RUNS = 20;

/**
 * BULK-1. A job looks at runs that were made before it, each once, from the highest id down; runs that it makes are newer.
 * BULK-2. How far it is is written under the lease of its job in the queue: who has lost that writes nothing.
 * BULK-3. A chunk that is done again, since its end was not written, does nothing twice: a rerun has an id that follows
 *     from job and run; a run is resumed only if it ended before the job was made.
 * BULK-4. What cannot be done to one run is counted, and the job goes on.
 * BULK-5. The counts are those of a job that no one interrupted: a chunk is written down before it is begun, and what
 *     was done of it before a gateway died counts as done.
 */
export class BulkJobs {
  readonly #options: DispatcherOptions;
  readonly #actions: BulkActions;
  readonly #emit: Emit<AfterRequest>;
  readonly #newId: UlidFactory;
  readonly #busy = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: DispatcherOptions, parts: BulkActionsParts, emit: Emit<AfterRequest>) {
    this.#options = options;
    this.#actions = new BulkActions(options.store, parts);
    this.#emit = emit;
    this.#newId = createUlidFactory(options.clock, options.random);
  }

  /** Counts what a job would look at; no more than some hundred thousand runs are read for that. */
  preview({ filter, again }: Pick<BulkRequest, "filter" | "again">): Promise<BulkPreview> {
    const id = this.#newId();
    return this.#preview(again ? filter : { ...filter, notAgain: madeBy(id) });
  }

  async #preview(filter: BulkFilter): Promise<BulkPreview> {
    const runIds: string[] = [];
    let count = 0;
    let leftOut = 0;
    let before: string | null = NEWEST_RUN;
    for (let pages = 0; before !== null && pages < COUNTED_PAGES; pages += 1) {
      const page = await this.#options.store.bulkPage(filter, before, PAGE * 2);
      count += page.runIds.length;
      leftOut += page.leftOut;
      runIds.push(...page.runIds.slice(0, SHOWN_RUNS - runIds.length));
      before = page.nextBeforeId;
    }
    return { count, isMore: before !== null, runIds, leftOut };
  }

  /** Stores a job; it begins at once, here or at another gateway. */
  async create({ action, filter: wanted, version, again }: BulkRequest): Promise<BulkJob> {
    const { store } = this.#options;
    // Ids of runs that are made from now on are not before the first one of this millisecond.
    const nowMs = await store.nowMs();
    const id = bulkIdOf(ulidFromSeed(Math.round(nowMs), sha256(this.#newId()).subarray(0, 10), 0));
    // By the database's clock: those of gateways that give ids may be ahead or behind.
    const createdBeforeMs = Math.min(nowMs + 1, wanted.createdBeforeMs ?? nowMs + 1);
    const filter = { ...wanted, createdBeforeMs, ...(again ? {} : { notAgain: madeBy(id) }) };
    const { count, isMore } = await this.#preview(filter);
    const appVersion = version.type === "named" ? `=${version.version}` : version.type === "same" ? "same" : "";
    await store.createBulkJob(
      { id, action, filter, appVersion, total: isMore ? null : count },
      { id, runId: "", kind: "bulk", key: id, functionId: NEWER_QUEUE, attempt: 0, iteration: 0 },
    );
    this.#emit({ do: "JOBS_DUE" });
    store.notify({ type: "JOBS_DUE", functionIds: [NEWER_QUEUE] });
    const made = await store.loadBulkJob(id);
    if (!made) throw new HoldfastError("STORE_FAILED", `Bulk job ${id} was stored, and is not there.`);
    return made;
  }

  /** Works on a job that is leased to this gateway. */
  startJob(bulkId: string, fence: Fence): void {
    const hasRoom = this.#busy.size < JOBS_AT_ONCE;
    const begun = hasRoom ? this.#carryOut(bulkId, fence) : this.#putOff(fence);
    const work = begun.finally(() => this.#busy.delete(work));
    this.#busy.add(work);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#busy);
  }

  /** Another gateway may have room. */
  async #putOff(fence: Fence): Promise<void> {
    // Where that fails its lease expires.
    await this.#options.store.postponeJob(fence, AFTER_FAILURE_MS).catch(() => {});
  }

  async #carryOut(bulkId: string, fence: Fence): Promise<void> {
    const { store, log, settings } = this.#options;
    try {
      const bulk = await store.loadBulkJob(bulkId);
      const isOver = bulk?.status !== "RUNNING" || (await this.#goOn(bulk, fence));
      if (isOver) await store.finishJob(fence);
      else await store.releaseLeases([{ ...fence, lost: false, heldBy: settings.gatewayId }]);
    } catch (error) {
      log(levelFor(error, "warn"), `Bulk job ${bulkId} is tried again: ${messageOf(error)}`);
      await this.#putOff(fence);
    }
  }

  /** True: it is over. False: another gateway is to go on. */
  async #goOn(bulk: BulkJob, fence: Fence): Promise<boolean> {
    const { store } = this.#options;
    let progress: BulkProgress = bulk;
    // Of a gateway that was interrupted.
    const begun = new Set(bulk.chunk);
    let before: string | null = bulk.beforeId;
    while (before !== null) {
      const page = await store.bulkPage(bulk.filter, before, PAGE);
      const { runIds, nextBeforeId } = page;
      progress = await this.#countGone(bulk, progress, page);
      for (let at = 0; at < runIds.length; at += CHUNK) {
        const chunk = runIds.slice(at, at + CHUNK);
        const isAnnounced = chunk.every((runId) => progress.chunk.includes(runId));
        progress = { ...progress, chunk };
        if (!isAnnounced && !(await store.saveBulkProgress(bulk.id, fence, progress, false)))
          return this.#isStopped(bulk.id);
        if (!(await this.#mayGoOn(fence))) return false;
        const startedMs = this.#options.clock.monotonicMs();
        const done = await this.#doChunk(bulk, progress, begun);
        progress = { ...done, chunk: runIds.slice(at + CHUNK, at + 2 * CHUNK) };
        if (!(await store.saveBulkProgress(bulk.id, fence, progress, false))) return this.#isStopped(bulk.id);
        await this.#rest(this.#options.clock.monotonicMs() - startedMs);
      }
      before = nextBeforeId;
      progress = { ...progress, beforeId: before ?? progress.beforeId };
      if (!(await this.#mayGoOn(fence))) return false;
      if (!(await store.saveBulkProgress(bulk.id, fence, progress, before === null))) return this.#isStopped(bulk.id);
    }
    return true;
  }

  /** Those of an interrupted chunk that fit no more, mostly since the job has done to them what it does. */
  async #countGone(bulk: BulkJob, before: BulkProgress, { runIds, nextBeforeId }: BulkPage): Promise<BulkProgress> {
    const gone = before.chunk.filter((runId) => !runIds.includes(runId) && runId >= (nextBeforeId ?? ""));
    const done = await Promise.all(gone.map((runId) => this.#actions.wasDone(bulk, runId)));
    const count = done.filter((was) => was).length;
    const chunk = before.chunk.filter((runId) => !gone.includes(runId));
    return { ...before, done: before.done + count, skipped: before.skipped + gone.length - count, chunk };
  }

  /** Nothing was written: it was stopped, or another gateway has it. */
  async #isStopped(bulkId: string): Promise<boolean> {
    return (await this.#options.store.loadBulkJob(bulkId))?.status !== "RUNNING";
  }

  async #mayGoOn(fence: Fence): Promise<boolean> {
    if (this.#stopping.signal.aborted) return false;
    const { store, settings } = this.#options;
    const extension = { ...fence, gatewayId: settings.gatewayId, leaseMs: BULK_LEASE_MS };
    const [isHeld = false] = await store.extendLeases([extension]);
    return isHeld;
  }

  async #rest(workedMs: number): Promise<void> {
    await sleep(this.#options.timers, Math.max(LEAST_REST_MS, workedMs), this.#stopping.signal);
  }

  /** `begun`: runs with which the job had begun before. */
  async #doChunk(bulk: BulkJob, before: BulkProgress, begun: ReadonlySet<string>): Promise<BulkProgress> {
    const { chunk: runIds } = before;
    const counts = { done: before.done, skipped: before.skipped, failed: before.failed };
    const errors = [...before.errors];
    for (let at = 0; at < runIds.length; at += RUNS_AT_ONCE) {
      const some = runIds.slice(at, at + RUNS_AT_ONCE);
      const outcomes = await this.#actions.applyTo(some, bulk, begun);
      for (const outcome of outcomes) {
        counts[outcome.is] += 1;
        if (outcome.is === "failed" && errors.length < MAX_ERRORS) errors.push(outcome.message);
      }
    }
    return { ...counts, errors, beforeId: runIds.at(-1) ?? before.beforeId, chunk: [] };
  }
}
