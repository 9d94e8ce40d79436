/** Chooses among the workers that can all run a job. Pure; `dispatch/workers` asks it for each reservation. */

/** What routing looks at: one connected worker. */
export interface Candidate {
  readonly id: string;
  /** Requests that it may hold at once. */
  readonly capacity: number;
  readonly inFlight: number;
  /** When it was last heard of, monotonic. */
  readonly seenMs: number;
  readonly heartbeatMs: number;
}

/** What a worker that names no limit is taken to bear. */
export const UNLIMITED_CAPACITY = 1000;

/** The capacity behind `max_worker_concurrency`: absent, zero or negative means unlimited. */
export function capacityOf(maxWorkerConcurrency: number | undefined): number {
  if (maxWorkerConcurrency === undefined || maxWorkerConcurrency <= 0) return UNLIMITED_CAPACITY;
  return Math.min(Math.floor(maxWorkerConcurrency), 100_000);
}

/**
 * Chooses the worker that gets the work, among those with free capacity: those heard of within two heartbeat intervals
 * before the others; then the least loaded. Ties go to the first, so the order of the candidates decides (one that is idle ends the search): give them
 * rotated to spread load. Undefined when no worker has capacity. A worker to `avoid` is taken only when there is no
 * other.
 */
export function chooseWorker<Worker extends Candidate>(
  candidates: Iterable<Worker>,
  options: { readonly nowMs: number; readonly avoid?: ReadonlySet<string> | undefined },
): Worker | undefined {
  let best: Worker | undefined;
  let bestRank = Number.POSITIVE_INFINITY;
  for (const worker of candidates) {
    if (worker.inFlight >= worker.capacity) continue;
    const rank = rankOf(worker, options.nowMs, options.avoid);
    if (rank === 0) return worker;
    if (rank < bestRank) {
      best = worker;
      bestRank = rank;
    }
  }
  return best;
}

function rankOf(worker: Candidate, nowMs: number, avoid: ReadonlySet<string> | undefined): number {
  const load = worker.inFlight / worker.capacity;
  const stale = nowMs - worker.seenMs > 2 * worker.heartbeatMs ? 10 : 0;
  const avoided = avoid?.has(worker.id) ? 100 : 0;
  return load + stale + avoided;
}
