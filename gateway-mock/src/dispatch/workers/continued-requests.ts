/**
 * Owns what is known of requests that workers here go on with though this gateway did not give them out: another one
 * did, or this one before it was started again.
 */
import type { TimerHandle } from "@holdfast/core";
import type { RunningStep } from "@holdfast/protocol";
import type { Fence } from "@holdfast/store";
import type { DispatcherOptions } from "../ports.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Workers } from "./workers.ts";

const LOOK_MS = 5_000;
/** Its lease has ended for certain. */
const LEASES = 2;

export interface ContinuedRequest {
  readonly fence: Fence;
  readonly functionId: string;
  readonly instanceId: string;
  readonly leaseMs: number;
  readonly extendLeaseMs: number;
  /** Null since its socket was lost. */
  worker: ConnectedWorker | null;
  /** When its socket was lost, monotonic; null while it has one. */
  lostMs: number | null;
  /** Last word about it from the worker, monotonic. */
  lastHeardMs: number;
  running: { readonly steps: readonly RunningStep[]; readonly saidMs: number };
}

/**
 * What workers report of these requests is stored without them: the fence decides. Invariants:
 *
 * CONT-1. A request is here from when its lease was extended until its worker has replied or handed it back, its lease is
 *     refused, its job is given out again, or nothing was heard of it for longer than leases last.
 * CONT-2. As long as it is here and its worker is connected, it takes a place of the worker's, once.
 */
export class ContinuedRequests {
  readonly #options: Pick<DispatcherOptions, "clock" | "timers">;
  readonly #workers: Pick<Workers, "get" | "hold" | "release">;
  readonly #onFreed: () => void;
  readonly #byJob = new Map<string, ContinuedRequest>();
  readonly #ofWorker = new Map<ConnectedWorker, Set<ContinuedRequest>>();
  #timer: TimerHandle | null = null;
  #armedMs = 0;

  /** `onFreed`: a worker has a place more. */
  constructor(
    options: Pick<DispatcherOptions, "clock" | "timers">,
    workers: Pick<Workers, "get" | "hold" | "release">,
    onFreed: () => void,
  ) {
    this.#options = options;
    this.#workers = workers;
    this.#onFreed = onFreed;
  }

  get size(): number {
    return this.#byJob.size;
  }

  get({ jobId, epoch }: Fence): ContinuedRequest | undefined {
    const found = this.#byJob.get(jobId);
    return found?.fence.epoch === epoch ? found : undefined;
  }

  /** Its lease was extended; `steps` of it have been running for a while. */
  extended(fence: Fence, functionId: string, worker: ConnectedWorker, steps: readonly RunningStep[]): void {
    // Its socket may have gone while the answer was on its way from the store.
    if (this.#workers.get(worker.id) !== worker) return;
    const nowMs = this.#options.clock.monotonicMs();
    const found = this.get(fence) ?? this.#add(fence, functionId, worker, nowMs);
    this.#move(found, worker);
    found.lostMs = null;
    found.lastHeardMs = nowMs;
    found.running = { steps, saidMs: nowMs };
  }

  /** The worker spoke of it. */
  heard(fence: Fence): void {
    const found = this.get(fence);
    if (found) found.lastHeardMs = this.#options.clock.monotonicMs();
  }

  /** It is over, or no longer its worker's. */
  finish(fence: Fence): void {
    const found = this.get(fence);
    if (found) this.#delete(found);
  }

  /** Its job is given out under this epoch. */
  supersede({ jobId, epoch }: Fence): void {
    const found = this.#byJob.get(jobId);
    if (found && found.fence.epoch < epoch) this.#delete(found);
  }

  /** Its socket is gone; the leases of what it had, which is returned, stay. */
  onWorkerLost(worker: ConnectedWorker): ContinuedRequest[] {
    const lostMs = this.#options.clock.monotonicMs();
    const lost = [...(this.#ofWorker.get(worker) ?? [])];
    for (const request of lost) {
      this.#move(request, null);
      request.lostMs = lostMs;
    }
    return lost;
  }

  /** Whether nothing was heard of it since its socket was lost. */
  isLost(request: ContinuedRequest): boolean {
    return request.worker === null && this.get(request.fence) === request;
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #add(fence: Fence, functionId: string, { session }: ConnectedWorker, nowMs: number): ContinuedRequest {
    this.supersede(fence);
    const { instanceId, leaseMs, extendLeaseMs } = session;
    const request: ContinuedRequest = {
      ...{ fence, functionId, instanceId, leaseMs, extendLeaseMs, worker: null, lostMs: null },
      ...{ lastHeardMs: nowMs, running: { steps: [], saidMs: nowMs } },
    };
    this.#byJob.set(fence.jobId, request);
    this.#watch();
    return request;
  }

  #delete(request: ContinuedRequest): void {
    const wasHeld = request.worker !== null;
    this.#move(request, null);
    this.#byJob.delete(request.fence.jobId);
    if (wasHeld) this.#onFreed();
  }

  #move(request: ContinuedRequest, to: ConnectedWorker | null): void {
    const { worker: from, functionId } = request;
    if (from === to) return;
    if (from) {
      const others = this.#ofWorker.get(from);
      others?.delete(request);
      if (others?.size === 0) this.#ofWorker.delete(from);
      this.#workers.release(from, functionId);
    }
    request.worker = to;
    if (!to) return;
    const its = this.#ofWorker.get(to);
    if (its) its.add(request);
    else this.#ofWorker.set(to, new Set([request]));
    this.#workers.hold(to, functionId);
  }

  /** Those whose replies went another way. */
  #watch(): void {
    if (this.#timer) return;
    this.#armedMs = this.#options.clock.monotonicMs();
    this.#timer = this.#options.timers.set(LOOK_MS, () => this.#look(), { unref: true });
  }

  #look(): void {
    this.#timer = null;
    const nowMs = this.#options.clock.monotonicMs();
    // After a pause of the process what workers have said meanwhile is still to be read.
    const isLate = nowMs - this.#armedMs > 2 * LOOK_MS;
    for (const request of isLate ? [] : [...this.#byJob.values()]) {
      if (nowMs - request.lastHeardMs > LEASES * request.leaseMs) this.#delete(request);
    }
    if (this.#byJob.size > 0) this.#watch();
  }
}
