/**
 * Fails attempts on which no worker will report: requests that a plain gateway could not route, and runs too large for
 * any request.
 */
import { messageOf, type PlainError, plainError } from "@holdfast/core";
import { type Fence, levelFor } from "@holdfast/store";
import type { DispatcherOptions } from "../ports.ts";
import type { RunUpdater } from "./run-updater.ts";

/** Why an attempt failed that no worker has reported on; the codes are the reference's. */
const REASONS = {
  connect_no_healthy_connection: "No connection of the app accepts work: all are paused, closing or unresponsive.",
  connect_worker_stopped_responding: "The worker did not acknowledge the request, or did not extend its lease.",
} as const;

export type RoutingFailure = keyof typeof REASONS;

/**
 * Fails attempts that no worker reports on: they are tried again, and fail their runs, as any that a handler threw in.
 */
export class FailedAttempts {
  readonly #options: Pick<DispatcherOptions, "log">;
  readonly #updater: RunUpdater;

  constructor(options: Pick<DispatcherOptions, "log">, updater: RunUpdater) {
    this.#options = options;
    this.#updater = updater;
  }

  failAttempt({ runId, fence }: { readonly runId: string; readonly fence: Fence }, code: RoutingFailure): void {
    const error: PlainError = { name: "Error", code, message: REASONS[code] };
    this.#options.log("warn", `An attempt of run ${runId} failed: ${code}`, { runId });
    const report = { status: "ERROR", error, retryAfterMs: undefined } as const;
    this.#logFailure(
      runId,
      this.#updater.apply(runId, { type: "report", jobId: fence.jobId, inPlace: false, report }, fence),
    );
  }

  /** The run's state alone is more than a request can hold: no attempt will do. */
  failTooLarge({ runId, fence }: { readonly runId: string; readonly fence: Fence }, bytes: number): void {
    const message = `The run's event alone needs a request of ${bytes} bytes, which exceeds the limit. Keep large data elsewhere and send a reference.`;
    const error = plainError("RUN_TOO_LARGE", message);
    this.#logFailure(runId, this.#updater.apply(runId, { type: "fail", jobId: fence.jobId, error }, fence));
  }

  #logFailure(runId: string, decision: Promise<unknown>): void {
    decision.catch((failure: unknown) => {
      const level = levelFor(failure, "error");
      this.#options.log(level, `Run ${runId} could not be marked as failed: ${messageOf(failure)}`, { runId });
    });
  }
}
