/** Routes that run graphs: those that are stored, and tests of those that are not (docs/graphs.md). */
import type { Context, Hono } from "hono";
import Type from "typebox";
import { GraphDefinitions } from "../graphs/definitions.ts";
import { GraphRuns, type StartAsked } from "../graphs/graph-runs.ts";
import { limitBody } from "./bodies.ts";
import { readSeed, SEED_HEADER } from "./events-api.ts";
import { Dispatch, NodeTypes, RunnerFields } from "./graphs-api.ts";
import {
  dispatchIn,
  fieldsOf,
  graphNameIn,
  MAX_GRAPH_BODY_BYTES,
  MAX_RUN_BODY_BYTES,
  nodeTypesIn,
  runnerIn,
  tenantOf,
  wholeIn,
} from "./graphs-fields.ts";
import { GraphSchema } from "./graphs-view.ts";
import { type BodyDescription, describe } from "./openapi/describe-route.ts";
import { Json } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { Deadline, deadlineIn, Instant, instantIn } from "./read-instant.ts";
import { runOr404 } from "./run-or-404.ts";

const json = (schema: BodyDescription["schema"]): BodyDescription => ({ contentType: "application/json", schema });

const StartFields = {
  input: Type.Optional(Type.Unsafe({ ...Json, description: "The value of `ctx.input` in the graph." })),
  id: Type.Optional(
    Type.String({
      maxLength: 256,
      description: "A second call with the same id within 30 days refers to the same run of the graph.",
    }),
  ),
  at: Type.Optional(Instant),
  deadline: Type.Optional(Deadline),
  appVersion: Type.Optional(Type.String({ description: "Starts with this version of the app instead of the newest." })),
  priority: Type.Optional(
    Type.Integer({ minimum: -600, maximum: 600, description: "By how many seconds it is put ahead of other runs." }),
  ),
  dispatch: Dispatch,
};

const ExecuteBody = Type.Object({
  ...StartFields,
  version: Type.Optional(Type.Integer({ minimum: 1, description: "The version to run; default: the published one." })),
  ...RunnerFields,
});

const STARTED = {
  runId: Type.String(),
  eventId: Type.String(),
  functionId: Type.String({ description: "The function that runs it." }),
  isNew: Type.Boolean({ description: "False: an earlier request with this id started it." }),
};

const EXECUTE = describe({
  operationId: "executeGraph",
  summary: "Starts a run of a graph; the answer comes once the run is stored.",
  description:
    "The run carries the version in its own record: what becomes of the graph later does not touch it. The header `x-inngest-event-id-seed` names the request: sent again with the same one, it counts once.",
  tag: "graphs",
  params: { id: "The graph's id." },
  query: Type.Object({ tenant: Type.Optional(Type.String()) }),
  body: json(ExecuteBody),
  answers: { 202: Type.Object({ ...STARTED, version: Type.Integer() }, { title: "StartedGraphRun" }) },
  failures: {
    404: "There is no such graph, or no such version.",
    409: "`GRAPH_NOT_PUBLISHED`, `GRAPH_RUNNER_UNKNOWN`.",
  },
});

const TestBody = Type.Object({
  graph: GraphSchema,
  tenant: Type.Optional(Type.String()),
  ...StartFields,
  ...RunnerFields,
  nodeTypes: NodeTypes,
});

const TEST = describe({
  operationId: "testGraph",
  summary: "Runs a graph that is not stored.",
  description:
    "The run takes the way of all others, is marked as a test (`GET /v1/runs?test=1`), and is removed with all that is left of it when it is stopped, or a day after it began. Nothing triggers it.",
  tag: "graphs",
  // Clients of a tenant send it with each call; here the body says it.
  query: Type.Object({ tenant: Type.Optional(Type.String()) }),
  body: json(TestBody),
  answers: { 202: Type.Object(STARTED, { title: "StartedGraphTest" }) },
  failures: { 400: "`GRAPH_INVALID`, with `problems`.", 409: "`GRAPH_RUNNER_UNKNOWN`." },
});

const STOP = describe({
  operationId: "stopGraphTest",
  summary: "Ends a test, and removes everything that it left.",
  tag: "graphs",
  // Clients of a tenant send it with each call; the run says whose it is.
  query: Type.Object({ tenant: Type.Optional(Type.String()) }),
  params: { runId: "The run's id." },
  answers: { 200: Type.Object({ stopped: Type.Literal(true), runId: Type.String() }) },
  failures: {
    404: "There is no such run.",
    409: "`GRAPH_TEST_UNKNOWN`: the run is not a test. `RUN_ON_HOLD`, `RUN_IN_USE`.",
  },
});

export function graphRunsApi(app: Hono, { store, dispatcher, newId }: HttpParts): void {
  const definitions = new GraphDefinitions({ store, dispatcher, newId });
  const runs = new GraphRuns({ store, dispatcher, definitions });

  app.post("/v1/graphs/:id/runs", EXECUTE, limitBody(MAX_RUN_BODY_BYTES), async (c) => {
    const body = await fieldsOf(c, Object.keys(ExecuteBody.properties), "passed on");
    const version = wholeIn("version", body.version, 1);
    const asked = { ...startOf(c, body), ...runnerIn(body), ...(version === undefined ? {} : { version }) };
    return c.json(await runs.execute(graphNameIn(c), asked), 202);
  });

  app.post("/v1/graph-tests", TEST, limitBody(MAX_GRAPH_BODY_BYTES + MAX_RUN_BODY_BYTES), async (c) => {
    const body = await fieldsOf(c, Object.keys(TestBody.properties), "parsed");
    const asked = { ...startOf(c, body), ...runnerIn(body), ...nodeTypesIn(body), graph: body.graph };
    return c.json(await runs.test(c.get("environment"), tenantOf(body.tenant) ?? "", asked), 202);
  });

  app.delete("/v1/graph-tests/:runId", STOP, async (c) => {
    const runId = c.req.param("runId");
    await runOr404(c, runId, (id) => store.getRun(id));
    await runs.stopTest(runId);
    return c.json({ stopped: true, runId });
  });
}

/** What of a body says how the run starts; checked where it is made. */
function startOf(c: Context, body: Readonly<Record<string, unknown>>): StartAsked {
  const { input, id, at, deadline, appVersion, priority } = body;
  const seed = readSeed(c.req.header(SEED_HEADER));
  const atMs = instantIn("at", at);
  return {
    ...(input === undefined ? {} : { input }),
    ...(id === undefined ? {} : { id }),
    ...(atMs === undefined ? {} : { atMs }),
    ...deadlineIn(deadline),
    ...(appVersion === undefined ? {} : { appVersion }),
    ...(priority === undefined ? {} : { priority }),
    ...(seed ? { seed } : {}),
    ...dispatchIn(body),
  };
}
