/** Routes that list who is connected, at all gateways of the database, and that drain workers. */
import { type ConnectionMark, environmentOf, type ListedConnection, plainName } from "@holdfast/store";
import type { Context, Hono } from "hono";
import Type from "typebox";

import { isGatewaySilent } from "../dispatch/index.ts";
import { isoTime } from "./iso-time.ts";
import { answerJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { At, Ms, orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { WorkerStateSchema } from "./worker-state-schema.ts";

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
  /** It is given no new work until that is taken back. */
  readonly drained: boolean;
  readonly connectedAt: string;
  readonly connectedMs: number;
  /** The queues that it serves; `["*"]` = every one. */
  readonly queues: readonly string[];
  /** Requests that it may have at once, beside those of its partitions. */
  readonly capacity: number;
  readonly inFlight: number | null;
  readonly partitions: readonly PartitionView[];
  /** For how long nothing was heard of it; where it is connected to another gateway, of that one. */
  readonly silentMs: number;
  /** Null when the worker is connected to another gateway. */
  readonly condition: object | null;
}

const PartitionSchema = Type.Object({
  functions: Type.Array(Type.String()),
  capacity: Type.Integer(),
  inFlight: orNull(Type.Integer({ description: "Null: the worker is connected to another gateway." })),
});

const StallReportSchema = Type.Object(
  {
    ...{ atMs: Ms, runId: orNull(Type.String()), instanceId: Type.Optional(Type.String()) },
    cause: Type.Optional(Type.String({ description: "`blocked`, or `no-cpu`: the process was given no processor." })),
    ...{ stalledMs: Type.Number(), waitedMs: Type.Optional(Type.Number()) },
    ended: Type.Boolean({ description: "False: it was still blocked when it reported." }),
    stepId: Type.Optional(Type.String()),
    location: Type.Optional(Type.String({ description: "File, line and column." })),
    ...{ codeName: Type.Optional(Type.String()), stack: Type.Optional(Type.String()) },
    leasesGivenUp: Type.Optional(Type.Boolean()),
  },
  { title: "StallReport" },
);

const ConditionSchema = Type.Object(
  {
    heartbeatMs: Type.Number({ description: "How often it is expected to give a sign of life." }),
    silentMs: Type.Number({ description: "How long nothing has been heard from it." }),
    roundTripMs: orNull(Type.Number({ description: "Of the last ping to its connection thread; null = none yet." })),
    extensions: Type.Array(Type.String()),
    stalls: Type.Array(StallReportSchema, { description: "The last five reports of stalls of its main thread." }),
    state: Type.Union([WorkerStateSchema, Type.Null()], {
      description: "What it last reported about itself; null if it reports nothing, as without the extension `state`.",
    }),
  },
  { title: "WorkerCondition" },
);

const WorkerSchema = Type.Object(
  {
    connectionId: Type.String(),
    gatewayId: Type.String(),
    instanceId: Type.String(),
    apps: Type.Array(Type.String({ description: "`app@version`." })),
    status: Type.String({
      description:
        "`READY`: it gets work. `MAIN_BLOCKED`: none while its main thread is blocked. `DRAINING`: none, since it is " +
        "drained or closes. `SILENT`: nothing was heard of it for one and a half heartbeats, as when its machine died or " +
        "the network is cut; after some more its requests go to others. Of a worker of another gateway these may be a " +
        "second or two old. `GATEWAY_SILENT`: its gateway has given no sign of life for ten seconds, so the worker is probably gone or " +
        "connected elsewhere; after a minute it is no longer listed.",
    }),
    drained: Type.Boolean({ description: "Whether it is given no new work: `POST /v1/workers/{id}/drain`." }),
    connectedAt: At,
    connectedMs: Ms,
    queues: Type.Array(Type.String(), { description: 'The queues that it serves; `["*"]` = every one.' }),
    capacity: Type.Integer(),
    inFlight: orNull(Type.Integer()),
    partitions: Type.Array(PartitionSchema),
    silentMs: Type.Number({
      description: "How long nothing has been heard from it; if it is connected to another gateway, from that gateway.",
    }),
    condition: Type.Union([ConditionSchema, Type.Null()], {
      description: "Null: the worker is connected to another gateway, which knows this.",
    }),
  },
  { title: "Worker" },
);

const DrainedSchema = Type.Object(
  {
    instanceId: Type.String(),
    drained: Type.Boolean(),
    changed: Type.Boolean({ description: "False: nothing changed, because it was already so." }),
    workers: Type.Array(WorkerSchema, { description: "Its connections." }),
  },
  { title: "DrainedWorker" },
);

const params = { id: "The worker's instance id, or the id of one of its connections." };

const DRAIN = describe({
  operationId: "drainWorker",
  summary: "Drains a worker: it gets no new work, and finishes what it has.",
  description:
    "This also covers other connections with the same instance id, at any gateway, and holds after a reconnect. Once this has been answered, no gateway assigns it new work.",
  tag: "workers",
  query: Type.Object({}),
  params,
  answers: { 200: DrainedSchema },
  failures: { 404: "No worker with this id is connected." },
});

const RESUME = describe({
  operationId: "resumeWorker",
  summary: "Ends the drain of a worker: it gets work again.",
  tag: "workers",
  query: Type.Object({}),
  params,
  answers: { 200: DrainedSchema },
  failures: { 404: "No worker with this id is connected or drained." },
});

/** What people and dashboards read of the workers of their environment. */
export function workersApi(app: Hono, { store, dispatcher }: HttpParts): void {
  const viewOf = (one: ListedConnection): WorkerView => {
    const isDrained = dispatcher.functions.controls.isDrained(environmentOf(one.appIds[0] ?? ""), one.instanceId);
    return workerView(one, isDrained, dispatcher.conditions);
  };
  const described = describe({
    operationId: "listWorkers",
    summary: "Lists the workers that are connected to any gateway of the database.",
    tag: "workers",
    query: Type.Object({}),
    answers: { 200: Type.Object({ workers: Type.Array(WorkerSchema) }) },
  });
  app.get("/v1/workers", described, async (c) => {
    const connections = await store.listConnections();
    const here = connections.filter(({ appIds }) => environmentOf(appIds[0] ?? "") === c.get("environment"));
    return answerJson(c, { workers: here.map(viewOf) });
  });

  const drain = async (c: Context, isDrained: boolean): Promise<Response> => {
    const id = c.req.param("id") ?? "";
    const { instanceId, changed, connections } = await dispatcher.controls.drainWorker(
      c.get("environment"),
      id,
      isDrained,
    );
    return answerJson(c, { instanceId, drained: isDrained, changed, workers: connections.map(viewOf) });
  };
  app.post("/v1/workers/:id/drain", DRAIN, (c) => drain(c, true));
  app.post("/v1/workers/:id/resume", RESUME, (c) => drain(c, false));
}

function workerView(
  connection: ListedConnection,
  drained: boolean,
  conditions: HttpParts["dispatcher"]["conditions"],
): WorkerView {
  const inFlight = conditions.inFlightOf(connection.id);
  const { id, gatewayId, instanceId, versions, connectedMs, queues, capacity, partitions } = connection;
  const condition = conditions.of(id);
  const mark = condition === null ? (connection.mark ?? null) : conditions.markOf(id);
  return {
    connectionId: id,
    gatewayId,
    instanceId,
    apps: versions.map(plainName),
    status: statusOf(connection, { drained, mark, isHere: condition !== null }),
    drained,
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
    silentMs: condition === null ? Math.round(connection.silentMs) : condition.silentMs,
    condition,
  };
}

interface Seen {
  readonly drained: boolean;
  readonly mark: ConnectionMark | null;
  readonly isHere: boolean;
}

/** Why one takes no work that has not been drained: it closes, it waits for its main thread, or it is gone. */
function statusOf(connection: ListedConnection, { drained, mark, isHere }: Seen): string {
  if (!isHere && isGatewaySilent(connection)) return "GATEWAY_SILENT";
  if (mark === "SILENT") return "SILENT";
  const { status } = connection;
  if (drained) return status === "READY" ? "DRAINING" : status;
  return mark === "BLOCKED" && (status === "READY" || status === "DRAINING") ? "MAIN_BLOCKED" : status;
}
