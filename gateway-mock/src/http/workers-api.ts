/** The route that lists who is connected, at all gateways of the database. */
import { environmentOf, type ListedConnection, plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";

import { isoTime } from "./iso-time.ts";
import { answerJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { At, Ms, orNull } from "./openapi/schemas.ts";
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
  readonly connectedAt: string;
  readonly connectedMs: number;
  /** The queues that it serves; `["*"]` = every one. */
  readonly queues: readonly string[];
  /** Requests that it may have at once, beside those of its partitions. */
  readonly capacity: number;
  readonly inFlight: number | null;
  readonly partitions: readonly PartitionView[];
}

const PartitionSchema = Type.Object({
  functions: Type.Array(Type.String()),
  capacity: Type.Integer(),
  inFlight: orNull(Type.Integer({ description: "Null: the worker is connected to another gateway." })),
});

const WorkerSchema = Type.Object(
  {
    connectionId: Type.String(),
    gatewayId: Type.String(),
    instanceId: Type.String(),
    apps: Type.Array(Type.String({ description: "`app@version`." })),
    status: Type.String(),
    connectedAt: At,
    connectedMs: Ms,
    queues: Type.Array(Type.String(), { description: 'The queues that it serves; `["*"]` = every one.' }),
    capacity: Type.Integer(),
    inFlight: orNull(Type.Integer()),
    partitions: Type.Array(PartitionSchema),
  },
  { title: "Worker" },
);

/** What people and dashboards read of the workers of their environment. */
export function workersApi(app: Hono, { store, dispatcher }: HttpParts): void {
  const described = describe({
    operationId: "listWorkers",
    summary: "Lists the connected workers, at all gateways of the database.",
    tag: "workers",
    answers: { 200: Type.Object({ workers: Type.Array(WorkerSchema) }) },
  });
  app.get("/v1/workers", described, async (c) => {
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
    connectedAt: isoTime(connectedMs),
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
