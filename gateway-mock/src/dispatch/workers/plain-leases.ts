import { ulidTimeMs } from "@holdfast/core";
import type { Dispatch } from "./dispatch.ts";

export type ExtensionResult = "extend" | "repeat" | "refuse";

/**
 * What the reference's gateway makes of an extension: the lease's present id counts; the one before it from the same instance gets
 * the present one once more (its acknowledgement was lost); any other is refused while the lease has not ended. Where
 * instances have limits, a request is the instance's that was given it.
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
