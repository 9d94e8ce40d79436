/**
 * Whether a request that a gateway sends is accepted, as a pure question: `RequestManager` gathers the facts and
 * carries out the answer. The order of the checks is the contract: what is known already is acknowledged again,
 * whatever else holds.
 */
import type { ExecutorRequest, NackReason } from "@holdfast/protocol";

/** What becomes of a request that just came in. */
export type Acceptance =
  | { readonly verdict: "accept" }
  /** Known already: acknowledged again, run once. */
  | { readonly verdict: "duplicate" }
  /** Answered before; the gateway named this very dispatch, so there is nothing to do. */
  | { readonly verdict: "finished" }
  /** Answered with an ERROR reply. */
  | { readonly verdict: "malformed"; readonly message: string }
  | { readonly verdict: "refuse"; readonly reason: NackReason; readonly message: string };

export interface AcceptanceFacts {
  readonly apps: ReadonlySet<string>;
  /** Of the part of the capacity that the request would take: how much is running, and how much may. */
  readonly running: number;
  readonly maxRunning: number;
  readonly shuttingDown: boolean;
  readonly outboxFull: boolean;
  /** The main thread has stalled for so long that its work was returned. */
  readonly stalled: boolean;
  isInFlight(requestId: string): boolean;
  isFinished(requestId: string): boolean;
}

export function decideAcceptance(request: ExecutorRequest, facts: AcceptanceFacts): Acceptance {
  if (request.requestId === "") {
    return { verdict: "refuse", reason: "MALFORMED", message: "The request has no request id." };
  }
  if (facts.isInFlight(request.requestId)) return { verdict: "duplicate" };
  if (facts.isFinished(request.requestId)) return { verdict: "finished" };
  if (!facts.apps.has(request.appName)) {
    const message = `This worker has no app ${JSON.stringify(request.appName)}.`;
    return { verdict: "refuse", reason: "UNKNOWN_APP", message };
  }
  if (facts.shuttingDown) {
    return { verdict: "refuse", reason: "SHUTTING_DOWN", message: "This worker is shutting down." };
  }
  if (facts.stalled) {
    return { verdict: "refuse", reason: "STALLED", message: "This worker's main thread is blocked." };
  }
  if (facts.outboxFull) {
    return {
      verdict: "refuse",
      reason: "AT_CAPACITY",
      message: "Too many replies are waiting for an acknowledgement.",
    };
  }
  if (facts.running >= facts.maxRunning) {
    return {
      verdict: "refuse",
      reason: "AT_CAPACITY",
      message: `This worker is already running ${facts.running} requests of ${facts.maxRunning}.`,
    };
  }
  if (request.functionSlug === "" || request.requestPayload.byteLength === 0) {
    return { verdict: "malformed", message: "The request names no function, or has no payload." };
  }
  return { verdict: "accept" };
}
