/**
 * Plain gateways only: fails work of apps that are connected but of which no connection accepts any, as the reference
 * does (docs/decisions/0038).
 */
import { needsWorker } from "@holdfast/engine";
import { isOutdated } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import type { Workers } from "../workers/workers.ts";
import type { FailedAttempts } from "./failed-attempts.ts";

/** How long the reference's router looks for a connection that takes work. */
const ROUTING_MS = 10_000;
const CLAIM_LEASE_MS = 10_000;
const MAX_AT_ONCE = 50;

export interface UnroutableParts {
  readonly workers: Pick<Workers, "unroutable">;
  readonly functions: Pick<Functions, "get" | "version">;
  readonly admission: Pick<Admission, "mayStart">;
  readonly failed: Pick<FailedAttempts, "failAttempt">;
}

/**
 * Work for apps that are connected, but of which no connection takes any: as at the reference it does not wait for one
 * to come, its attempt fails. Work for apps that no worker is connected for waits.
 */
export class UnroutableWork {
  readonly #options: DispatcherOptions;
  readonly #parts: UnroutableParts;
  readonly #sinceMs = new Map<string, number>();

  constructor(options: DispatcherOptions, parts: UnroutableParts) {
    this.#options = options;
    this.#parts = parts;
  }

  async failUnroutable(): Promise<void> {
    const { store, clock, settings } = this.#options;
    const { workers, functions, admission, failed } = this.#parts;
    const nowMs = clock.monotonicMs();
    const now = workers.unroutable(nowMs);
    for (const id of this.#sinceMs.keys()) if (!now.has(id)) this.#sinceMs.delete(id);
    for (const id of now) if (!this.#sinceMs.has(id)) this.#sinceMs.set(id, nowMs);
    const wants = [...this.#sinceMs].flatMap(([functionId, sinceMs]) => {
      const isOver = nowMs - sinceMs >= ROUTING_MS && !functions.get(functionId)?.limits;
      // What may not start, e.g. because this gateway drains, does not fail for want of a worker either.
      return isOver && admission.mayStart({ at: "CLAIM", functionId }).may ? [{ functionId, limit: MAX_AT_ONCE }] : [];
    });
    if (wants.length === 0) return;
    // What is paused, or has another queue by now, is not failed.
    const { version: registryVersion } = functions;
    const jobs = await store
      .claim({ gatewayId: settings.gatewayId, registryVersion, leaseMs: CLAIM_LEASE_MS, wants })
      .catch((error: unknown) => {
        if (isOutdated(error)) return [];
        throw error;
      });
    for (const job of jobs) {
      if (!needsWorker(job) || job.runId === "") continue;
      failed.failAttempt(
        { runId: job.runId, fence: { jobId: job.id, epoch: job.epoch } },
        "connect_no_healthy_connection",
      );
    }
  }
}
