/** The route that says what became of each node of a graph's run, worked out from the run's own record. */
import { HoldfastError } from "@holdfast/core";
import { statusOfGraph } from "@holdfast/graph/definition";
import type { Hono } from "hono";
import Type from "typebox";
import { graphRecordOf } from "./graph-record.ts";
import { describe } from "./openapi/describe-route.ts";
import { Json, Ms, orNull, RunStatusSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";

const NodeSchema = Type.Object(
  {
    id: Type.String(),
    key: Type.String({ description: "Unique in the run: `sub/charge[2]`." }),
    stepId: orNull(Type.String({ description: "The `id` of its step in the run; null: there is none on record." })),
    type: Type.String(),
    title: Type.Optional(Type.String()),
    status: Type.Enum(["waiting", "ready", "running", "done", "failed", "skipped", "dead"]),
    path: Type.Array(Type.String(), { description: "The ids of the subgraph nodes that contain it." }),
    iteration: Type.Array(Type.Integer(), {
      description: "The iteration of each loop that contains it, outermost first.",
    }),
    attempts: Type.Integer({ description: "How often it has been tried so far." }),
    startedMs: orNull(Ms),
    endedMs: orNull(Ms),
    dueMs: orNull(Type.Number({ description: "When a wait, or the pause before the next attempt, is over." })),
    input: Type.Optional(Json),
    output: Type.Optional(Json),
    error: Type.Optional(Json),
    handle: Type.Optional(Type.String({ description: "The handle at which the run went on." })),
  },
  { title: "NodeStatus" },
);

const StatusSchema = Type.Object(
  {
    runId: Type.String(),
    graphId: Type.String(),
    version: orNull(Type.Integer()),
    test: Type.Boolean(),
    status: RunStatusSchema,
    createdMs: Ms,
    endedMs: orNull(Ms),
    output: Json,
    error: Json,
    nodes: Type.Array(NodeSchema),
    isCut: Type.Boolean({ description: "True: more nodes have started than are listed, as in long loops." }),
  },
  { title: "GraphStatus" },
);

const GET = describe({
  operationId: "getGraphStatus",
  summary: "Shows the status of each node of a graph's run.",
  description: "To follow it live, read `/v1/runs/{id}/stream`, and call this again when something has happened.",
  tag: "graphs",
  // Clients of a tenant send it with each call; the run says whose it is.
  query: Type.Object({ tenant: Type.Optional(Type.String()) }),
  params: { id: "The run's id." },
  answers: { 200: StatusSchema },
  failures: { 404: "There is no such run, or it is not a run of a graph." },
});

export function graphStatusApi(app: Hono, { store }: Pick<HttpParts, "store">): void {
  app.get("/v1/runs/:id/graph", GET, async (c) => {
    const id = c.req.param("id");
    const detail = await runOr404(c, id, (runId) => store.getRun(runId));
    const isOfGraph = (await store.graphRuns([id])).has(id);
    if (!isOfGraph) throw new HoldfastError("NOT_FOUND", `The run ${id} is of no graph. GET /v1/runs/${id} shows it.`);
    return c.json(statusOfGraph(graphRecordOf(detail)));
  });
}
