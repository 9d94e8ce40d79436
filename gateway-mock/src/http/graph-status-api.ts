/** The route that says what became of each node of a graph's run, worked out from the run's own record. */
import { HoldfastError } from "@holdfast/core";
import { JsonText, readRunCreated, sha1Hex } from "@holdfast/engine";
import { type GraphSnapshot, type StepFact, statusOfGraph } from "@holdfast/graph/definition";
import type { RunDetail, StoredLogRow } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { describe } from "./openapi/describe-route.ts";
import { Json, Ms, orNull, RunStatusSchema } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { runOr404 } from "./run-or-404.ts";
import { type StepView, stepViews } from "./run-view.ts";

const NodeSchema = Type.Object(
  {
    id: Type.String(),
    key: Type.String({ description: "Unique in the run: `sub/charge[2]`." }),
    type: Type.String(),
    title: Type.Optional(Type.String()),
    status: Type.Enum(["waiting", "ready", "running", "done", "failed", "skipped", "dead"]),
    path: Type.Array(Type.String(), { description: "Ids of the subgraph nodes that it is in." }),
    iteration: Type.Array(Type.Integer(), { description: "Of each loop around it, the outermost first." }),
    attempts: Type.Integer({ description: "How often it was tried so far." }),
    startedMs: orNull(Ms),
    endedMs: orNull(Ms),
    dueMs: orNull(Type.Number({ description: "When a wait, or the pause before the next attempt, is over." })),
    input: Type.Optional(Json),
    output: Type.Optional(Json),
    error: Type.Optional(Json),
    handle: Type.Optional(Type.String({ description: "The way on that was taken." })),
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
    isCut: Type.Boolean({ description: "More nodes have begun than are listed, as in long loops." }),
  },
  { title: "GraphStatus" },
);

const GET = describe({
  operationId: "getGraphStatus",
  summary: "Shows what became of each node of a graph's run.",
  description: "To follow it live, read `/v1/runs/{id}/stream`, and ask again when something has happened.",
  tag: "graphs",
  params: { id: "The run's id." },
  answers: { 200: StatusSchema },
  failures: { 404: "There is no such run, or it is of no graph." },
});

export function graphStatusApi(app: Hono, { store }: Pick<HttpParts, "store">): void {
  app.get("/v1/runs/:id/graph", GET, async (c) => {
    const id = c.req.param("id");
    const detail = await runOr404(c, id, (runId) => store.getRun(runId));
    const isOfGraph = (await store.graphRuns([id])).has(id);
    if (!isOfGraph) throw new HoldfastError("NOT_FOUND", `The run ${id} is of no graph. GET /v1/runs/${id} shows it.`);
    return c.json(statusOf(detail));
  });
}

function statusOf({ head, log }: RunDetail): object {
  const { id: runId, status, createdMs, endedMs, outputJson, errorJson } = head;
  return statusOfGraph({
    runId,
    snapshot: snapshotIn(log),
    status,
    createdMs,
    endedMs,
    output: outputJson === null ? null : JSON.parse(outputJson),
    error: errorJson === null ? null : JSON.parse(errorJson),
    steps: stepFacts(log),
    digest: sha1Hex,
  });
}

/** What the gateway has written there: runs of graphs are marked. */
function snapshotIn(log: readonly StoredLogRow[]): GraphSnapshot {
  const created = log.find(({ kind }) => kind === "RUN_CREATED");
  const { eventText } = readRunCreated(created?.dataJson ?? '{"run":{},"event":{}}');
  return (JSON.parse(eventText) as { readonly data: GraphSnapshot }).data;
}

/** Those that have ended in the order in which they did, then the others. */
function stepFacts(log: readonly StoredLogRow[]): StepFact[] {
  const places = new Map<string, number>();
  for (const [index, { kind, key }] of log.entries()) {
    if (kind === "STEP_COMPLETED" || kind === "STEP_FAILED") places.set(key, index);
  }
  const placeOf = ({ id, endedMs }: StepView): number =>
    endedMs === null ? Number.POSITIVE_INFINITY : (places.get(id) ?? Number.POSITIVE_INFINITY);
  const steps = stepViews(log).map((step) => ({ step, place: placeOf(step) }));
  return steps.sort((a, b) => (a.place === b.place ? 0 : a.place - b.place)).map(({ step }) => factOf(step));
}

function factOf({ id, status, attempt, startedMs, endedMs, dueMs, output, error, openedMs }: StepView): StepFact {
  const hasBegun = status !== "planned";
  return {
    id,
    status,
    attempts: status === "retrying" ? attempt : hasBegun ? attempt + 1 : 0,
    startedMs: startedMs ?? openedMs,
    endedMs,
    dueMs,
    ...(output === undefined ? {} : { output: jsonOf(output) }),
    ...(error === undefined ? {} : { error: jsonOf(error) }),
  };
}

const jsonOf = (stored: unknown): unknown => (stored instanceof JsonText ? JSON.parse(stored.text) : stored);
