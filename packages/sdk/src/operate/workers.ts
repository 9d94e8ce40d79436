/** `operate(app).workers`: who is connected, and drains. */
import { callFor, type OperatedClient, segment } from "./call-gateway.ts";

/** One connection of a worker. */
export interface WorkerInfo {
  readonly connectionId: string;
  readonly gatewayId: string;
  /** `connect({ instanceId })`. */
  readonly instanceId: string;
  /** `app@version` of each. */
  readonly apps: readonly string[];
  /** `READY`; `DRAINING`; `MAIN_BLOCKED`: it gets no work while its main thread is blocked. */
  readonly status: string;
  /** It is given no new work until it is resumed. */
  readonly drained: boolean;
  readonly connectedAt: string;
  readonly connectedMs: number;
  /** The queues that it serves; `["*"]` = every one. */
  readonly queues: readonly string[];
  /** Requests that it may have at once. */
  readonly capacity: number;
  /** How many it has; null: it is connected to another gateway than the one that answers. */
  readonly inFlight: number | null;
}

/** What came of a drain, or of its end. */
export interface DrainedWorker {
  readonly instanceId: string;
  readonly drained: boolean;
  /** False: it was so before. */
  readonly changed: boolean;
  /** Its connections. */
  readonly workers: readonly WorkerInfo[];
}

/** The workers of the client's environment, at all gateways. `id`: an instance id, or the id of a connection. */
export interface WorkersApi {
  /** @throws HoldfastError `GATEWAY_UNREACHABLE`, `UNAUTHORIZED` */
  list(): Promise<readonly WorkerInfo[]>;
  /**
   * Gives a worker no new work, also after a reconnect; what it has goes on. Then it can be stopped without a pause in
   * its runs.
   * @throws HoldfastError `NOT_FOUND` when no such worker is connected, `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  drain(id: string): Promise<DrainedWorker>;
  /**
   * Gives a drained worker work again.
   * @throws HoldfastError `NOT_FOUND`, `GATEWAY_UNREACHABLE`, `UNAUTHORIZED`
   */
  resume(id: string): Promise<DrainedWorker>;
}

export function workersApi(client: OperatedClient): WorkersApi {
  return {
    async list() {
      const { workers } = await callFor<{ workers: readonly WorkerInfo[] }>(client, { path: "v1/workers" });
      return workers;
    },
    drain: (id) => callFor(client, { path: `v1/workers/${segment(id)}/drain`, body: {} }),
    resume: (id) => callFor(client, { path: `v1/workers/${segment(id)}/resume`, body: {} }),
  };
}
