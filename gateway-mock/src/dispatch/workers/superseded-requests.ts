/**
 * Remembers who may still work on a request that is not in the table of dispatches any more, so they can be told to
 * stop once the job is given out again.
 */
import type { Fence } from "@holdfast/store";

import type { Dispatch } from "./dispatch.ts";
import { parseRequestId } from "./request-id.ts";
import type { Workers } from "./workers.ts";

/**
 * Beyond this number, workers that may have to be told to stop are not tracked; their lease extensions are rejected.
 */
const MAX_KEPT = 10_000;

type RequestAtWorker = Pick<Dispatch, "requestId" | "worker">;

/**
 * Workers that may run a request that is not in this gateway's table: it was dropped because it was not acknowledged,
 * or another gateway dispatched it and its worker is connected here. When the job is dispatched again, here or
 * elsewhere, they are told to stop, if they can be.
 */
export class SupersededRequests {
  readonly #workers: Workers;
  readonly #byJob = new Map<string, RequestAtWorker>();

  constructor(workers: Workers) {
    this.#workers = workers;
  }

  add({ requestId, worker }: RequestAtWorker): void {
    const jobId = parseRequestId(requestId)?.jobId;
    if (jobId === undefined || !worker?.session.extensions.has("cancel")) return;
    this.#byJob.delete(jobId);
    this.#byJob.set(jobId, { requestId, worker });
    if (this.#byJob.size <= MAX_KEPT) return;
    for (const oldest of this.#byJob.keys()) {
      this.#byJob.delete(oldest);
      return;
    }
  }

  /** The job has this epoch now: workers that have it under an earlier one are to stop. */
  supersede({ jobId, epoch }: Fence, before: Dispatch | undefined): void {
    const kept = this.#byJob.get(jobId);
    if (kept && isEarlier(kept, epoch)) {
      this.#byJob.delete(jobId);
      this.#sendCancel(kept);
    }
    if (before) this.#sendCancel(before);
  }

  #sendCancel({ requestId, worker }: RequestAtWorker): void {
    if (!worker?.session.extensions.has("cancel") || this.#workers.get(worker.id) !== worker) return;
    const reason = "The request was reassigned to another worker.";
    worker.session.send({ kind: "GATEWAY_CANCEL", requestId, reason });
  }
}

function isEarlier({ requestId }: RequestAtWorker, epoch: number): boolean {
  const fence = parseRequestId(requestId);
  return fence !== undefined && fence.epoch < epoch;
}
