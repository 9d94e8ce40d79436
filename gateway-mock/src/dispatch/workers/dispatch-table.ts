/**
 * Owns which requests are in flight from this gateway, found by request, by job and by run. What happens to them is up to
 * `dispatches.ts`.
 */
import type { Dispatch } from "./dispatch.ts";

/** Of each job the dispatch that was added last is found; one before it stays until it is removed. */
export class DispatchTable {
  readonly #byRequest = new Map<string, Dispatch>();
  readonly #byJob = new Map<string, Dispatch>();
  readonly #byRun = new Map<string, Set<Dispatch>>();

  get size(): number {
    return this.#byRequest.size;
  }

  get(requestId: string): Dispatch | undefined {
    return this.#byRequest.get(requestId);
  }

  /** Whether it is still in flight, and not another one under its id. */
  has(dispatch: Dispatch): boolean {
    return this.#byRequest.get(dispatch.requestId) === dispatch;
  }

  all(): Iterable<Dispatch> {
    return this.#byRequest.values();
  }

  ofJob(jobId: string): Dispatch | undefined {
    return this.#byJob.get(jobId);
  }

  ofRun(runId: string): Iterable<Dispatch> {
    return this.#byRun.get(runId) ?? [];
  }

  add(dispatch: Dispatch): void {
    this.#byRequest.set(dispatch.requestId, dispatch);
    this.#byJob.set(dispatch.fence.jobId, dispatch);
    const ofRun = this.#byRun.get(dispatch.runId);
    if (ofRun) ofRun.add(dispatch);
    else this.#byRun.set(dispatch.runId, new Set([dispatch]));
  }

  /** False when it was not there. */
  delete(dispatch: Dispatch): boolean {
    if (!this.#byRequest.delete(dispatch.requestId)) return false;
    if (this.#byJob.get(dispatch.fence.jobId) === dispatch) this.#byJob.delete(dispatch.fence.jobId);
    const ofRun = this.#byRun.get(dispatch.runId);
    ofRun?.delete(dispatch);
    if (ofRun?.size === 0) this.#byRun.delete(dispatch.runId);
    return true;
  }
}
