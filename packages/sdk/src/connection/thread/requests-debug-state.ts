import type { DebugState } from "../shared/debug-state.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";
import type { ReplyDelivery } from "./reply-delivery.ts";

/** How many requests the debug state lists; it counts them all. */
const MAX_LISTED = 100;

export type RequestsDebugState = Pick<DebugState, "inFlight" | "inFlightCount" | "outbox">;

export function requestsDebugState(
  inFlight: InFlightRequests,
  { count, bytes, full }: ReplyDelivery,
  nowMs: number,
): RequestsDebugState {
  const listed = [...inFlight.values()].slice(0, MAX_LISTED);
  return {
    inFlight: listed.map(({ identity: { requestId, runId, functionSlug }, startedAtMs, state }) => ({
      ...{ requestId, runId, functionSlug, state },
      ageMs: Math.round(nowMs - startedAtMs),
      leaseAgeMs: Math.round(nowMs - (inFlight.leases.get(requestId)?.grantedAtMs ?? startedAtMs)),
    })),
    inFlightCount: inFlight.count,
    outbox: { count, bytes, full },
  };
}
