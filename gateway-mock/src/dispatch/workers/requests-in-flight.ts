/** The requests in flight from this gateway, as they are seen from outside, and their end as if a worker were lost. */
import type { Dispatch } from "./dispatch.ts";
import type { Dispatches } from "./dispatches.ts";

/** A request that a worker has. */
export interface InFlightRequest {
  readonly requestId: string;
  readonly runId: string;
  readonly functionId: string;
  /** Null while its instance has no socket here. */
  readonly connection: { readonly connectionId: string; readonly instanceId: string } | null;
}

export class RequestsInFlight {
  readonly #dispatches: Dispatches;

  constructor(dispatches: Dispatches) {
    this.#dispatches = dispatches;
  }

  all(): readonly InFlightRequest[] {
    return [...this.#dispatches.all()].map(inFlightRequest);
  }

  /** Undefined when none has it. */
  get(requestId: string): InFlightRequest | undefined {
    const dispatch = this.#dispatches.get(requestId);
    return dispatch && inFlightRequest(dispatch);
  }

  /** Ends their leases as if their workers were lost: the work is given out again at once. */
  expire(requestIds: readonly string[]): void {
    this.#dispatches.expire(requestIds.flatMap((requestId) => this.#dispatches.get(requestId) ?? []));
  }
}

function inFlightRequest({ requestId, runId, functionId, worker }: Dispatch): InFlightRequest {
  const connection = worker && { connectionId: worker.session.id, instanceId: worker.session.instanceId };
  return { requestId, runId, functionId, connection };
}
