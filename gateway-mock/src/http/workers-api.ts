/** The route that lists who is connected, at all gateways of the database. */
import { environmentOf, type ListedConnection, plainName } from "@holdfast/store";
import type { Hono } from "hono";

import { answerJson } from "./json-answer.ts";
import type { HttpParts } from "./parts.ts";

/** A part of a worker's capacity. `inFlight` is null when the worker is connected to another gateway. */
export interface PartitionView {
  readonly functions: readonly string[];
  readonly capacity: number;
  readonly inFlight: number | null;
}

export interface WorkerView {
  readonly connectionId: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  /** `app@version` of each. */
  readonly apps: readonly string[];
  readonly status: string;
  readonly connectedMs: number;
  /** The queues that it serves; `["*"]` = every one. */
  readonly queues: readonly string[];
  /** Requests that it may have at once, beside those of its partitions. */
  readonly capacity: number;
  readonly inFlight: number | null;
  readonly partitions: readonly PartitionView[];
}

/** What people and dashboards read of the workers of their environment. */
export function workersApi(app: Hono, { store, dispatcher }: HttpParts): void {
  app.get("/v1/workers", async (c) => {
    const connections = await store.listConnections();
    const here = connections.filter(({ appIds }) => environmentOf(appIds[0] ?? "") === c.get("environment"));
    return answerJson(c, { workers: here.map((one) => workerView(one, dispatcher.inFlightOf(one.id))) });
  });
}

function workerView(connection: ListedConnection, inFlight: readonly number[] | null): WorkerView {
  const { id, gatewayId, instanceId, versions, status, connectedMs, queues, capacity, partitions } = connection;
  return {
    connectionId: id,
    gatewayId,
    instanceId,
    apps: versions.map(plainName),
    status,
    connectedMs,
    queues,
    capacity,
    inFlight: inFlight?.[0] ?? null,
    partitions: partitions.map((one, index) => ({
      functions: one.functionIds.map(plainName),
      capacity: one.capacity,
      inFlight: inFlight?.[index + 1] ?? null,
    })),
  };
}
