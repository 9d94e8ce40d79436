/**
 * Works on jobs that stand between events and runs: windows that close, schedules that tick, singletons that are
 * replaced, runs that did not start in time.
 */
import { messageOf } from "@holdfast/core";
import { latestTickMs, nextTickMs } from "@holdfast/engine";
import {
  type ClaimedJob,
  type Fence,
  graphOfCron,
  levelFor,
  type OpenWindow,
  type PublishedGraph,
  readWindowKey,
  type StoredCron,
} from "@holdfast/store";
import type { EventIntake, JobEvent } from "../events/event-intake.ts";
import {
  causeOfTick,
  GRAPH_REQUESTED,
  graphRequestText,
  markOf,
  spreadsNodes,
  triggeredRequest,
} from "../graphs/graph-request.ts";
import type { Snapshots } from "../graphs/snapshots.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions, KnownFunction } from "../registry/functions.ts";
import type { RunCache } from "../run-cache.ts";
import { cancelChain } from "./cancel-chain.ts";
import type { RunUpdater } from "./run-updater.ts";

export interface SchedulerParts {
  readonly runs: RunCache;
  readonly functions: Functions;
  readonly updater: RunUpdater;
  readonly intake: EventIntake;
  readonly snapshots: Snapshots;
  readonly newId: () => string;
  readonly counters: DispatcherCounters;
}

/** The function that a tick starts, and the graph that it is to run. */
interface CronTarget {
  /** Of a graph's schedule missing, or not active, while no app has it: its tick waits. */
  readonly fn: KnownFunction | undefined;
  readonly graph: PublishedGraph | null;
  readonly registryVersion: number;
}

const TRIES = 5;
const AGAIN_MS = 100;
/** How often a schedule of a paused function is looked at: the last tick that it missed comes when it is resumed. */
const PAUSED_TICK_MS = 5_000;

/**
 * Jobs between events and runs: a window of events is over, a schedule ticks, a run gives way to another or has not
 * started in time. Each is leased to one gateway and ends in the transaction of what it makes, so it comes true once.
 */
export class Scheduler {
  readonly #options: DispatcherOptions;
  readonly #parts: SchedulerParts;
  readonly #busy = new Set<Promise<void>>();

  constructor(options: DispatcherOptions, parts: SchedulerParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Takes a leased job; false when it is not one of these. */
  startJob(job: ClaimedJob): boolean {
    const work = this.#workOf(job, { jobId: job.id, epoch: job.epoch });
    if (!work) return false;
    const done = work
      .catch((error: unknown) => {
        // Its lease expires, and a gateway does it again.
        this.#options.log(levelFor(error, "warn"), `A ${job.kind} job failed: ${messageOf(error)}`, {
          jobId: job.id,
        });
      })
      .finally(() => this.#busy.delete(done));
    this.#busy.add(done);
    return true;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#busy);
  }

  #workOf(job: ClaimedJob, fence: Fence): Promise<void> | null {
    switch (job.kind) {
      case "window":
        return this.#closeWindow(job.key, fence);
      case "cron":
        return this.#cronTick(job.key, fence);
      case "cancel":
        return this.#replaceRun(job.key, fence);
      case "start":
        return this.#startTimeout(job, fence);
      default:
        return null;
    }
  }

  /** The job goes only together with its window: else events would join a window that never becomes a run. */
  async #closeWindow(keyText: string, fence: Fence): Promise<void> {
    const { store } = this.#options;
    const key = readWindowKey(keyText);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const window = key && (await store.loadWindow(key));
      if (!window) {
        await store.finishJob(fence);
        return;
      }
      if (window.kind === "debounce" && window.dueInMs > 0) {
        await store.postponeJob(fence, window.dueInMs);
        return;
      }
      const fn = await this.#loadFunction(window.functionId);
      if (!fn) break;
      if (await this.#startRun(fn, window, fence)) return;
    }
    // Events come or functions change faster than they can be read, or no worker has registered the function here.
    await store.postponeJob(fence, AGAIN_MS);
  }

  async #startRun(fn: KnownFunction, window: OpenWindow, fence: Fence): Promise<boolean> {
    const { functionId, kind, key, id, count, eventIds } = window;
    const [first = "null", ...more] = await this.#options.store.loadEvents(eventIds);
    const { name } = JSON.parse(first) as { name: string };
    const event = { id: eventIds[0] ?? "", name, tsMs: 0, payloadJson: first };
    const source = { fence, window: { functionId, kind, key, id, count } };
    const outcome = await this.#parts.intake.startFromJob(fn, { event, source, stored: eventIds, more });
    if (outcome === "made") this.#parts.counters.windowRuns += 1;
    return outcome === "made";
  }

  /** What another gateway learned a moment ago may not be known here yet. */
  async #loadFunction(functionId: string): Promise<KnownFunction | undefined> {
    const { functions } = this.#parts;
    if (!functions.get(functionId)) await functions.load();
    return functions.get(functionId);
  }

  async #cronTick(key: string, fence: Fence): Promise<void> {
    for (let tries = 0; tries < TRIES; tries += 1) if (await this.#tryCronTick(key, fence)) return;
    await this.#options.store.postponeJob(fence, AGAIN_MS);
  }

  /** Of ticks that were missed only the last one comes true. False: its function has changed meanwhile. */
  async #tryCronTick(key: string, fence: Fence): Promise<boolean> {
    const { store, random } = this.#options;
    const at = key.indexOf("\n");
    const cron = await store.loadCron(key.slice(0, at), key.slice(at + 1));
    const target = cron && (await this.#targetOf(cron));
    if (!cron || !target) {
      await store.finishJob(fence);
      return true;
    }
    const { functionId, jitterMs, nowMs } = cron;
    const { fn, graph, registryVersion } = target;
    if (!fn?.active || this.#parts.functions.controls.pauseOf(fn.id)) {
      await store.postponeJob(fence, PAUSED_TICK_MS);
      return true;
    }
    // A tick that jitter put off was not missed.
    const tickMs = latestTickMs(cron.cron, cron.tickMs, nowMs - jitterMs);
    const nextMs = nextTickMs(cron.cron, tickMs);
    const next =
      nextMs === null
        ? null
        : { tickMs: nextMs, dueMs: nextMs + Math.floor(random() * jitterMs), jobId: this.#parts.newId() };
    const source = { fence, cron: { functionId, cron: cron.cron, next } };
    const from = graph
      ? await this.#graphTick(graph, cron.cron, tickMs, nowMs)
      : { event: this.#timerEvent(cron.cron, tickMs, nowMs) };
    // It was deleted a moment ago, which has taken its schedule along.
    if (!from) return false;
    const outcome = await this.#parts.intake.startFromJob(fn, { ...from, source, registryVersion });
    if (outcome === "made") this.#parts.counters.cronTicks += 1;
    return outcome !== "outdated";
  }

  /** What a tick starts. Null when nothing has the schedule any more. */
  async #targetOf(cron: StoredCron): Promise<CronTarget | null> {
    const { functions } = this.#parts;
    const uid = graphOfCron(cron.functionId);
    if (uid === null) {
      const fn = await this.#functionOf(cron);
      return fn && { fn, graph: null, registryVersion: functions.version };
    }
    const find = (): CronTarget | null => {
      const graph = functions.graphs.get(uid);
      if (!graph?.triggers.crons.includes(cron.cron)) return null;
      return { fn: functions.get(graph.runner), graph, registryVersion: functions.version };
    };
    const known = find();
    if (!known) await functions.load();
    return known ?? find();
  }

  async #graphTick(
    graph: PublishedGraph,
    cron: string,
    tickMs: number,
    nowMs: number,
  ): Promise<Pick<JobEvent, "event" | "graph"> | null> {
    const snapshotJson = await this.#parts.snapshots.of(graph);
    if (snapshotJson === null) return null;
    const [id, tsMs] = [this.#parts.newId(), Math.round(nowMs)];
    const request = triggeredRequest(graph, snapshotJson, causeOfTick(cron, rfc3339(tickMs)));
    const payloadJson = graphRequestText(id, tsMs, request);
    return {
      event: { id, name: GRAPH_REQUESTED, tsMs, payloadJson },
      graph: { graph: markOf(graph), spreads: spreadsNodes(snapshotJson) },
    };
  }

  /** Null when it no longer has the schedule. What another gateway learned a moment ago may not be known here yet. */
  async #functionOf({ functionId, cron }: StoredCron): Promise<KnownFunction | null> {
    const { functions } = this.#parts;
    const find = (): KnownFunction | null => {
      const fn = functions.get(functionId);
      return fn?.settings.triggers.some((trigger) => trigger.type === "cron" && trigger.cron === cron) ? fn : null;
    };
    const known = find();
    if (!known) await functions.load();
    return known ?? find();
  }

  #timerEvent(
    cron: string,
    tickMs: number,
    nowMs: number,
  ): { id: string; name: string; tsMs: number; payloadJson: string } {
    const name = "inngest/scheduled.timer";
    const [scheduledAt, fireAt] = [rfc3339(tickMs), rfc3339(nowMs)];
    const ts = Math.round(nowMs);
    const payload = { id: scheduledAt, name, data: { cron, scheduledAt, fireAt }, ts, user: {} };
    return { id: this.#parts.newId(), name, tsMs: ts, payloadJson: JSON.stringify(payload) };
  }

  async #replaceRun(key: string, fence: Fence): Promise<void> {
    const [runId = "", other = ""] = key.split("\n");
    const reason = `The run was replaced by run ${other} of the same singleton.`;
    await cancelChain({ store: this.#options.store, ...this.#parts }, runId, reason);
    await this.#options.store.finishJob(fence);
  }

  /** The key is the first pass: no worker had it when it is still what it was made as. */
  async #startTimeout({ runId, key }: ClaimedJob, fence: Fence): Promise<void> {
    const outcome = await this.#cancel(runId, "The run did not start in time (`timeouts.start`).", {
      jobId: key,
      epoch: 0,
    });
    if (outcome !== "won") await this.#options.store.finishJob(fence);
  }

  async #cancel(runId: string, reason: string, fence: Fence | null): Promise<string> {
    const { runs, updater } = this.#parts;
    runs.retain(runId);
    try {
      return await updater.apply(runId, { type: "cancel", reason }, fence);
    } finally {
      runs.release(runId);
    }
  }
}

const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z");
