/** Records reports about blocked main threads, in the log and in the run's own log. They change nothing of the run. */
import { type ErrorCode, isUlid, messageOf } from "@holdfast/core";
import { jsonRow, type StallMeta } from "@holdfast/engine";
import { WIRE_LIMITS, type WorkerStall } from "@holdfast/protocol";
import { levelFor, qualify } from "@holdfast/store";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";

import type { RunCache } from "../run-cache.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import { parseRequestId } from "./request-id.ts";

/** Workers bound their reports themselves; this many a minute are kept of one that does not. */
const MAX_PER_MINUTE = 30;
const MINUTE_MS = 60_000;
const MAX_TEXT = 1_000;
/** Of each connection, for people. */
const KEPT_REPORTS = 5;

/** What a worker has reported of its main thread. */
export interface StallReport extends StallMeta {
  readonly atMs: number;
  /** Null: no run was being worked on. */
  readonly runId: string | null;
}

/**
 * Workers whose main thread stalls. A report changes nothing of a run: it goes to the log, and into the run's own log,
 * where people look for what a run does. That row needs no fence: who has the work by now does not matter for it.
 */
export class Stalls {
  readonly #options: DispatcherOptions;
  readonly #runs: RunCache;
  readonly #counters: DispatcherCounters;
  readonly #reports = new WeakMap<ConnectedWorker, { sinceMs: number; count: number }>();
  readonly #newest = new WeakMap<ConnectedWorker, readonly StallReport[]>();

  constructor(options: DispatcherOptions, runs: RunCache, counters: DispatcherCounters) {
    this.#options = options;
    this.#runs = runs;
    this.#counters = counters;
  }

  onStall(worker: ConnectedWorker, frame: WorkerStall): void {
    const { log } = this.#options;
    const { requestId, runId, functionSlug, ended, suppressed, waiting } = frame;
    if (!ended) this.#counters.stalls += 1;
    if (!this.#mayReport(worker)) return;
    const meta = metaOf(worker, frame);
    this.#keep(worker, { ...meta, atMs: this.#options.clock.nowMs(), runId: runId === "" ? null : runId });
    log("warn", messageFor(frame, meta), {
      code: (frame.noCpu ? "NO_CPU_TIME" : "MAIN_BLOCKED") satisfies ErrorCode,
      ...{ requestId, runId, functionSlug, waiting, suppressed },
      ...meta,
    });
    if (!isUlid(runId) || !worker.functionIds.has(qualify(worker.session.environment, functionSlug))) return;
    this.#storeRow(worker, frame, meta).catch((error: unknown) => {
      log(levelFor(error, "warn"), `A report about a blocked main thread could not be stored: ${messageOf(error)}`, {
        runId,
      });
    });
  }

  /** The newest first, since the worker has connected. */
  newestOf(worker: ConnectedWorker): readonly StallReport[] {
    return this.#newest.get(worker) ?? [];
  }

  /** The report that a thread is responsive again takes the place of the one that it is blocked. */
  #keep(worker: ConnectedWorker, report: StallReport): void {
    const [last, ...before] = this.newestOf(worker);
    const isSame =
      last !== undefined && !last.ended && last.runId === report.runId && last.location === report.location;
    const others = isSame ? before : [...(last ? [last] : []), ...before];
    this.#newest.set(worker, [report, ...others].slice(0, KEPT_REPORTS));
  }

  async #storeRow(
    worker: ConnectedWorker,
    { requestId, runId, functionSlug, sequence }: WorkerStall,
    meta: StallMeta,
  ): Promise<void> {
    const fence = parseRequestId(requestId);
    if (!fence) return;
    const { store } = this.#options;
    const known = this.#runs.peek(runId) ?? (await store.loadRuns([runId]))[0]?.head;
    if (!known || !worker.appIds.has(known.appId)) return;
    if (known.functionId !== qualify(worker.session.environment, functionSlug)) return;
    const row = jsonRow("STALLED", fence.jobId, sequence, fence.epoch, meta);
    await store.commit({ runId, fence: null, cas: null, log: [row], removeJobs: [], addJobs: [] });
  }

  #mayReport(worker: ConnectedWorker): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#reports.get(worker);
    const entry = known && nowMs - known.sinceMs < MINUTE_MS ? known : { sinceMs: nowMs, count: 0 };
    this.#reports.set(worker, entry);
    entry.count += 1;
    return entry.count <= MAX_PER_MINUTE;
  }
}

function messageFor(
  { ended, stalledMs, waitedMs, noCpu }: WorkerStall,
  { instanceId, location, stepId }: StallMeta,
): string {
  if (noCpu) {
    const much = `The main thread of worker ${instanceId} was given no processor for ${waitedMs} ms of ${stalledMs} ms`;
    return `${much}: its machine, or its container's CPU limit, is taken up by something else.`;
  }
  const what = ended ? "is responsive again after" : "has been blocked for";
  const where = `${location === undefined ? "" : ` at ${location}`}${stepId === undefined ? "" : ` in the step "${stepId}"`}`;
  return `The main thread of worker ${instanceId} ${what} ${stalledMs} ms${where}.`;
}

function metaOf(worker: ConnectedWorker, frame: WorkerStall): StallMeta {
  const { stalledMs, waitedMs, noCpu, ended, stepId, location, codeName, stack, leasesGivenUp } = frame;
  return {
    cause: noCpu ? "no-cpu" : "blocked",
    stalledMs,
    ...(waitedMs > 0 ? { waitedMs } : {}),
    ended,
    instanceId: worker.session.instanceId,
    ...(stepId === "" ? {} : { stepId: stepId.slice(0, MAX_TEXT) }),
    ...(location === "" ? {} : { location: location.slice(0, MAX_TEXT) }),
    ...(codeName === "" ? {} : { codeName: codeName.slice(0, MAX_TEXT) }),
    ...(stack === "" ? {} : { stack: stack.slice(0, WIRE_LIMITS.maxStallStackLength) }),
    ...(leasesGivenUp ? { leasesGivenUp: true as const } : {}),
  };
}
