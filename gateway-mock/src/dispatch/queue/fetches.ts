/**
 * Owns the HTTP calls that this gateway makes for steps, with their leases. Which addresses may be called is decided in
 * `../../outgoing` (docs/decisions/0022).
 */
import { messageOf, plainError, type TimerHandle } from "@holdfast/core";
import { FETCH_QUEUE, type FetchResult, type RunState } from "@holdfast/engine";
import { levelFor } from "@holdfast/store";
import type { AfterCommit, Emit } from "../dispatcher-effects.ts";

import type { CallOutcome, DispatcherOptions } from "../ports.ts";

import type { RunCache } from "../run-cache.ts";
import { isLeaseOld } from "../workers/lease-age.ts";
import { readCall } from "./call-ops.ts";
import type { LeasedClaim } from "./claims.ts";
import type { RunUpdater } from "./run-updater.ts";

/** Of a call; extended while it lasts, so that the call of a gateway that died is soon repeated. */
export const FETCH_LEASE_MS = 20_000;
const EXTEND_EVERY_MS = 5_000;
const MAX_CALLS = 64;

/** HTTP calls that the gateway makes for steps: durable jobs of a kind of their own, with lease and retries. */
export class Fetches {
  readonly #options: DispatcherOptions;
  readonly #runs: RunCache;
  readonly #updater: RunUpdater;
  readonly #emit: Emit<AfterCommit>;
  readonly #calls = new Map<AbortController, Promise<void>>();
  #stopped = false;

  constructor(options: DispatcherOptions, parts: { runs: RunCache; updater: RunUpdater }, emit: Emit<AfterCommit>) {
    this.#options = options;
    this.#runs = parts.runs;
    this.#updater = parts.updater;
    this.#emit = emit;
  }

  get room(): number {
    return this.#stopped ? 0 : Math.max(0, MAX_CALLS - this.#calls.size);
  }

  /** Makes the call of a job that was claimed. */
  startCall(state: RunState, job: LeasedClaim): void {
    const abort = new AbortController();
    // Another gateway may have made it: a lease that is released late changes nothing.
    if (isLeaseOld(job.leasedAt, FETCH_LEASE_MS, this.#options.clock)) abort.abort();
    const text = state.open.get(job.key)?.call ?? null;
    const op = state.open.get(job.key)?.op ?? "";
    this.#runs.retain(job.runId);
    const call = this.#runJob(job, op, text, abort).finally(() => {
      this.#runs.release(job.runId);
      this.#calls.delete(abort);
      if (this.#calls.size === MAX_CALLS - 1) this.#emit({ do: "WAKE_QUEUE", functionId: FETCH_QUEUE, dueInMs: 0 });
    });
    this.#calls.set(abort, call);
  }

  /** Running calls are aborted and their leases released, so that another gateway makes them. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const abort of this.#calls.keys()) abort.abort();
    await Promise.all(this.#calls.values());
  }

  async #runJob(job: LeasedClaim, op: string, text: string | null, abort: AbortController): Promise<void> {
    const { store, log, settings } = this.#options;
    const fence = { jobId: job.id, epoch: job.epoch };
    const keeping = this.#keepLease(job, abort);
    try {
      // Without its step there is nothing to call for: the run has ended or gone on; deciding says so.
      const result = text === null || abort.signal.aborted ? NO_STEP : await this.#call(op, text, abort.signal);
      if (abort.signal.aborted) {
        await store.releaseLeases([{ ...fence, lost: false, heldBy: settings.gatewayId }]);
        return;
      }
      await this.#updater.apply(job.runId, { type: "fetched", jobId: job.id, result }, fence);
    } catch (error) {
      log(
        levelFor(error, "warn"),
        `The HTTP call of a step of run ${job.runId} could not be recorded: ${messageOf(error)}`,
        { runId: job.runId, stepKey: job.key },
      );
    } finally {
      keeping.stop();
    }
  }

  async #call(op: string, text: string, signal: AbortSignal): Promise<FetchResult> {
    const read = readCall(op, text);
    if (!read.ok) return { type: "error", error: read.error };
    const outcome = await this.#options.call(read.call, signal);
    return resultOf(outcome, read.resultOf);
  }

  #keepLease(job: LeasedClaim, abort: AbortController): { stop(): void } {
    const { store, settings, timers } = this.#options;
    const { gatewayId } = settings;
    const lease = { jobId: job.id, epoch: job.epoch, gatewayId, leaseMs: FETCH_LEASE_MS };
    let timer: TimerHandle | null = null;
    const arm = (): void => {
      timer = timers.set(EXTEND_EVERY_MS, () => {
        arm();
        store.extendLeases([lease]).then(
          ([extended]) => {
            if (!extended) abort.abort();
          },
          () => {},
        );
      });
    };
    arm();
    return { stop: () => timer?.cancel() };
  }
}

const NO_STEP: FetchResult = {
  type: "error",
  error: plainError("INTERNAL", "The step contains no HTTP call."),
};

function resultOf(
  outcome: CallOutcome,
  read: (answer: Extract<CallOutcome, { ok: true }>) => FetchResult,
): FetchResult {
  if (outcome.ok) return read(outcome);
  const error = plainError(outcome.code, outcome.message);
  return outcome.retry ? { type: "retry", error } : { type: "error", error };
}
