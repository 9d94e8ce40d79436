/**
 * What workers of this gateway have said of themselves last, for people who look (extension "state"). It is bounded and
 * checked before it is kept, and nothing is decided by it.
 */
import { type Clock, DEFAULT_ENVIRONMENT_NAME } from "@holdfast/core";
import { type PoolState, WIRE_LIMITS, type WorkerFrame, type WorkerState } from "@holdfast/protocol";
import { environmentOf, plainName } from "@holdfast/store";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Workers } from "./workers.ts";

/** A pool of threads, or several ones together. */
export interface IsolationState {
  readonly threads: number;
  readonly busy: number;
  readonly queued: number;
  /** Null: no turn waits or runs. */
  readonly oldestMs: number | null;
  readonly overruns: number;
  readonly crashes: number;
  readonly recycled: number;
  readonly abandoned: number;
}

export interface ReportedState extends Omit<WorkerState, "kind" | "pool" | "roundTripMs" | "process"> {
  /** How long ago it was said. */
  readonly ageMs: number;
  /** Null: no heartbeat was answered. */
  readonly roundTripMs: number | null;
  /** Null: the worker has no pool. */
  readonly isolation: IsolationState | null;
  readonly process: WorkerState["process"] & {
    /** Of one processor, between this report and the one before; null: there was none. */
    readonly cpuShare: number | null;
  };
}

/** The workers of one app that say how they are. Those that have several apps count for the first one. */
export interface AppWorkersState {
  readonly app: string;
  readonly environment: string;
  readonly workers: number;
  /** Of the one that is blocked for the longest; 0 = none is. */
  readonly mainLagMs: number;
  readonly isolation: IsolationState;
}

type StateFrame = Extract<WorkerFrame, { readonly kind: "WORKER_STATE" | "WORKER_STATUS" }>;

interface Kept {
  readonly state: Omit<ReportedState, "ageMs">;
  readonly atMs: number;
}

const NO_POOL: IsolationState = {
  threads: 0,
  busy: 0,
  queued: 0,
  oldestMs: null,
  overruns: 0,
  crashes: 0,
  recycled: 0,
  abandoned: 0,
};

export class WorkerStates {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #workers: Pick<Workers, "all">;
  readonly #kept = new WeakMap<ConnectedWorker, Kept>();

  constructor(workers: Pick<Workers, "all">, clock: Pick<Clock, "monotonicMs">) {
    this.#workers = workers;
    this.#clock = clock;
  }

  /** What WORKER_STATUS of the base protocol lists is known from acknowledgements and leases. */
  onFrame(worker: ConnectedWorker, frame: StateFrame): void {
    if (frame.kind === "WORKER_STATUS" || !worker.session.extensions.has("state")) return;
    const before = this.#kept.get(worker)?.state;
    this.#kept.set(worker, { state: checked(frame, before), atMs: this.#clock.monotonicMs() });
  }

  /** Null: it has said nothing of itself. */
  of(worker: ConnectedWorker): ReportedState | null {
    const kept = this.#kept.get(worker);
    if (kept === undefined) return null;
    return { ageMs: Math.max(0, Math.round(this.#clock.monotonicMs() - kept.atMs)), ...kept.state };
  }

  /** By app; apps without such workers are left out. */
  byApp(): AppWorkersState[] {
    const apps = new Map<string, AppWorkersState>();
    for (const worker of this.#workers.all()) {
      const kept = this.#kept.get(worker);
      const [appId = ""] = worker.appIds;
      if (kept === undefined) continue;
      const about = { app: plainName(appId), environment: environmentOf(appId) || DEFAULT_ENVIRONMENT_NAME };
      const { workers, mainLagMs, isolation } = apps.get(appId) ?? { workers: 0, mainLagMs: 0, isolation: NO_POOL };
      apps.set(appId, {
        ...about,
        workers: workers + 1,
        mainLagMs: Math.max(mainLagMs, kept.state.mainLagMs),
        isolation: together(isolation, kept.state.isolation ?? NO_POOL),
      });
    }
    return [...apps.values()];
  }
}

function together(one: IsolationState, other: IsolationState): IsolationState {
  const ages = [one.oldestMs, other.oldestMs].filter((ms) => ms !== null);
  return {
    threads: one.threads + other.threads,
    busy: one.busy + other.busy,
    queued: one.queued + other.queued,
    oldestMs: ages.length === 0 ? null : Math.max(...ages),
    overruns: one.overruns + other.overruns,
    crashes: one.crashes + other.crashes,
    recycled: one.recycled + other.recycled,
    abandoned: one.abandoned + other.abandoned,
  };
}

const { maxStateRequests, maxStateTransitions, maxStateTextLength } = WIRE_LIMITS;

/** Later ones are no date any more. */
const LAST_INSTANT_MS = 8.64e15;

/** What is cut off is copied: a part of a text would keep all of it in memory. */
const short = (text: string): string =>
  text.length <= maxStateTextLength ? text : Buffer.from(text.slice(0, maxStateTextLength)).toString();
const size = (value: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, value));

/** Each field by name: a worker may send anything, as long as it has the right type. */
function checked(frame: WorkerState, before: Kept["state"] | undefined): Kept["state"] {
  const { pid, rssBytes, cpuMs, uptimeMs } = frame.process;
  const process = { pid, rssBytes: size(rssBytes), cpuMs: size(cpuMs), uptimeMs: size(uptimeMs) };
  return {
    phase: frame.phase,
    mainLagMs: frame.mainLagMs,
    roundTripMs: frame.roundTripMs ?? null,
    unansweredHeartbeats: frame.unansweredHeartbeats,
    inFlight: frame.inFlight,
    requests: frame.requests.slice(0, maxStateRequests).map(({ replied, ageMs, leaseAgeMs, ...ids }) => ({
      requestId: short(ids.requestId),
      runId: short(ids.runId),
      functionSlug: short(ids.functionSlug),
      replied,
      ageMs,
      leaseAgeMs,
    })),
    outboxCount: frame.outboxCount,
    outboxBytes: size(frame.outboxBytes),
    outboxFull: frame.outboxFull,
    reconnectAttempts: frame.reconnectAttempts,
    crashes: frame.crashes,
    lastErrorCode: short(frame.lastErrorCode),
    lastError: short(frame.lastError),
    stalls: frame.stalls,
    stallsUnseen: frame.stallsUnseen,
    logsDropped: frame.logsDropped,
    isolation: frame.pool === undefined ? null : isolationOf(frame.pool),
    process: { ...process, cpuShare: before === undefined ? null : cpuShareOf(before.process, process) },
    transitions: frame.transitions.slice(-maxStateTransitions).map(({ atMs, event, from, to }) => ({
      atMs: Math.min(LAST_INSTANT_MS, size(atMs)),
      event: short(event),
      from: short(from),
      to: short(to),
    })),
  };
}

function isolationOf({ oldestMs, threads, busy, queued, overruns, crashes, recycled, abandoned }: PoolState) {
  return { threads, busy, queued, oldestMs: oldestMs ?? null, overruns, crashes, recycled, abandoned };
}

function cpuShareOf(before: WorkerState["process"], now: WorkerState["process"]): number | null {
  const passedMs = now.uptimeMs - before.uptimeMs;
  const usedMs = now.cpuMs - before.cpuMs;
  return before.pid === now.pid && passedMs > 0 && usedMs >= 0 ? Math.round((usedMs / passedMs) * 100) / 100 : null;
}
