/** Claims of this store that the database acknowledged lately, so that they can be restored where it has forgotten them. */
import type { Fence } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { intervalOf, numberArray, rowsOf, textArray } from "../connection/pg-values.ts";

interface KeptClaim extends Fence {
  readonly gatewayId: string;
  readonly leaseMs: number;
  readonly atMs: number;
}

const MAX_CLAIMS = 100_000;

/**
 * A job that has a lower epoch than it was claimed under has lost that claim; the worker that has it keeps it. One with a
 * higher epoch was claimed since.
 */
const RESTORE = `UPDATE holdfast.queue q SET epoch = n.epoch, leased_by = n.gateway_id, lost = false, claim_id = NULL,
  available_at = now() + ${intervalOf("n.lease_ms")}, claimed_at = now(), unplaced_since = NULL, wanted_version = NULL
FROM ${rowsOf({ id: "$1::text[]", epoch: "$2::int[]", gateway_id: "$3::text[]", lease_ms: "$4::float8[]" })}
WHERE q.id = n.id AND q.id = ANY($1::text[]) AND q.epoch < n.epoch`;

export class KeptClaims {
  readonly #keptMs: number;
  readonly #monotonicMs: () => number;
  /** By job, the oldest first. */
  readonly #claims = new Map<string, KeptClaim>();

  constructor(keptMs: number, monotonicMs: () => number) {
    this.#keptMs = keptMs;
    this.#monotonicMs = monotonicMs;
  }

  add(fences: readonly Fence[], gatewayId: string, leaseMs: number): void {
    const atMs = this.#monotonicMs();
    for (const { jobId, epoch } of fences) {
      this.#claims.delete(jobId);
      this.#claims.set(jobId, { jobId, epoch, gatewayId, leaseMs, atMs });
    }
    for (const [jobId, claim] of this.#claims) {
      if (this.#claims.size <= MAX_CLAIMS && atMs - claim.atMs <= this.#keptMs) break;
      this.#claims.delete(jobId);
    }
  }

  /** Null: there is nothing to restore. */
  restore(): Statement | null {
    const claims = [...this.#claims.values()].sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
    if (claims.length === 0) return null;
    return {
      text: RESTORE,
      params: [
        textArray(claims.map(({ jobId }) => jobId)),
        numberArray(claims.map(({ epoch }) => epoch)),
        textArray(claims.map(({ gatewayId }) => gatewayId)),
        numberArray(claims.map(({ leaseMs }) => leaseMs)),
      ],
    };
  }
}
