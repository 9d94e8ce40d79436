/** Rules that hold with `--plain` only: the ones of the reference gateway (docs/plain-gateway.md). Pure. */
import { ulidTimeMs } from "@holdfast/core";
import type { Dispatch } from "./dispatch.ts";

/**
 * What a plain gateway does as the reference's does it: how often a request is routed anew (`Dispatches`), and which
 * lease id extends a lease (`Leases`). docs/plain-gateway.md has the whole list; gateways that are not plain use
 * neither.
 */

/** A request goes to so many connections; when none has acknowledged it, its attempt has failed. */
const MAX_ROUTES = 3;
const MAX_KNOWN = 10_000;

/** How often in a row a job was sent and not acknowledged, as the reference's router counts it. */
export class PlainRoutes {
  readonly #missed = new Map<string, number>();

  /** Not acknowledged in time, or its connection left before. True when its attempt has failed. */
  recordMiss({ fence: { jobId } }: Dispatch): boolean {
    const missed = (this.#missed.get(jobId) ?? 0) + 1;
    this.#missed.delete(jobId);
    if (missed >= MAX_ROUTES) return true;
    this.#missed.set(jobId, missed);
    for (const oldest of this.#missed.keys()) {
      if (this.#missed.size <= MAX_KNOWN) break;
      this.#missed.delete(oldest);
    }
    return false;
  }

  onAcknowledged({ fence }: Dispatch): void {
    this.#missed.delete(fence.jobId);
  }
}

export type ExtensionResult = "extend" | "repeat" | "refuse";

/**
 * What the reference's gateway makes of an extension: the lease's present id counts; the one before it from the same
 * instance gets the present one once more (its acknowledgement was lost); any other is refused while the lease has not
 * ended. Where instances have limits, a request is the instance's that was given it.
 */
export function decideExtension(
  lease: Dispatch["lease"],
  asked: { readonly leaseId: string; readonly instanceId: string; readonly isLimited: boolean },
  nowMs: number,
): ExtensionResult {
  if (lease === null) return "extend";
  const { leaseId, instanceId, isLimited } = asked;
  const isSame = lease.instanceId === instanceId;
  if (isLimited && !isSame) return "refuse";
  if (leaseId === lease.id || ulidTimeMs(lease.id) <= nowMs) return "extend";
  return leaseId === lease.before && isSame ? "repeat" : "refuse";
}
