/**
 * Owns how far workers may run ahead of the database: a request whose reply has come has left its place in the worker,
 * but both sides keep the reply until it is stored.
 */
import type { AfterRequest, Emit } from "../dispatcher-effects.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Workers } from "./workers.ts";

/**
 * Replies of one worker that are being stored while their places are free already: more than the largest transaction, so
 * that there is always one to come.
 */
export const MAX_STORING = 512;

/**
 * Of a worker's replies only so many are being stored without a place. Beyond that each keeps the place of its request
 * until it is stored: a gateway would give out work faster than it stores what comes of it, and a crowd of runs would
 * lie in the memory of the app, in that of the gateway and before the database, all at once.
 */
export class StoringReplies {
  readonly #workers: Pick<Workers, "hold" | "release">;
  readonly #emit: Emit<AfterRequest>;
  readonly #counts = new WeakMap<ConnectedWorker, number>();

  constructor(workers: Pick<Workers, "hold" | "release">, emit: Emit<AfterRequest>) {
    this.#workers = workers;
    this.#emit = emit;
  }

  /** The reply of a request that is still in its place has come. Call what it returns once, when that is stored or given up. */
  begin({ worker, functionId }: Pick<Dispatch, "worker" | "functionId">): () => void {
    if (worker === null) return () => {};
    const before = this.#counts.get(worker) ?? 0;
    this.#counts.set(worker, before + 1);
    const keepsPlace = before >= MAX_STORING;
    if (keepsPlace) this.#workers.hold(worker, functionId);
    return () => {
      this.#counts.set(worker, (this.#counts.get(worker) ?? 1) - 1);
      if (!keepsPlace) return;
      this.#workers.release(worker, functionId);
      this.#emit({ do: "WORKER_FREED" });
    };
  }
}
