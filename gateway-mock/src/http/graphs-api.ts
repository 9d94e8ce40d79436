/** Routes for definitions of graphs: drafts, versions, what is published (docs/graphs.md). */
import type { Hono } from "hono";
import Type from "typebox";
import { readSnapshot } from "../graphs/check-graph.ts";
import { GraphDefinitions } from "../graphs/definitions.ts";
import { limitBody } from "./bodies.ts";
import {
  cursorOf,
  dispatchIn,
  fieldsOf,
  graphNameIn,
  MAX_GRAPH_BODY_BYTES,
  nodeTypesIn,
  placeIn,
  runnerIn,
  tenantOf,
  wholeIn,
} from "./graphs-fields.ts";
import {
  definitionView,
  GraphDefinitionSchema,
  GraphSchema,
  GraphVersionSchema,
  graphView,
  ListedGraphSchema,
  StoredGraphSchema,
  versionView,
} from "./graphs-view.ts";
import { answerJson } from "./json-answer.ts";
import { type BodyDescription, describe } from "./openapi/describe-route.ts";
import { orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { switchIn } from "./read-switch.ts";

const MAX_BODY_BYTES = 256 * 1024;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

const params = { id: "The graph's id." };
const Tenant = Type.Optional(
  Type.String({
    description: "The tenant that the graph belongs to; default: none.",
  }),
);
const tenantQuery = Type.Object({ tenant: Tenant });
const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }));
export const NodeTypes = Type.Optional(
  Type.Array(Type.Object({ type: Type.String(), handles: Type.Optional(Type.Array(Type.String())) }), {
    description:
      "The node types that the app has besides the built-in ones. Without this list, every name is accepted as a type.",
  }),
);
export const Dispatch = Type.Optional(
  Type.Enum(["run", "node"], {
    description:
      "`run`: nodes run in place, one worker has the run. `node`: each node is a job of its own, which any worker takes.",
  }),
);
export const RunnerFields = {
  app: Type.Optional(Type.String({ description: "The app that runs it; default: the only one that runs graphs." })),
  runner: Type.Optional(
    Type.String({ default: "graphs", description: "The id of the app's function that runs graphs." }),
  ),
};
const json = (schema: BodyDescription["schema"]): BodyDescription => ({ contentType: "application/json", schema });

const PutBody = Type.Object({
  graph: GraphSchema,
  expectedRevision: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: "The revision of the draft that is to be replaced; 0 = there is no draft yet. Default: any.",
    }),
  ),
  ...RunnerFields,
  nodeTypes: NodeTypes,
});

const PUT = describe({
  operationId: "putGraph",
  summary: "Stores the draft of a graph.",
  description:
    "Versions, triggers and runs stay as they are. A draft may lack parts and have problems: they are listed, and keep it from being published. What is there must have its form, a list where a list belongs. `GRAPH_INVALID` has `problems`, `GRAPH_CONFLICT` the `revision` that the draft has.",
  tag: "graphs",
  params,
  query: tenantQuery,
  body: json(PutBody),
  answers: { 200: StoredGraphSchema },
  failures: {
    400: "`GRAPH_INVALID`: part of the graph is malformed; `problems` says which.",
    409: "`GRAPH_CONFLICT`.",
  },
});

const PublishBody = Type.Object({
  expectedRevision: Type.Optional(
    Type.Integer({ minimum: 1, description: "The revision of the draft that is to be published; default: any." }),
  ),
  version: Type.Optional(
    Type.Integer({ minimum: 1, description: "Publishes this version again instead of the draft." }),
  ),
  nodeTypes: NodeTypes,
  dispatch: Dispatch,
});

const PUBLISH = describe({
  operationId: "publishGraph",
  summary: "Makes a version from the draft and publishes it, or publishes an earlier version again.",
  description:
    "A version never changes. Its triggers take the place of those of the version before, for all gateways at once; runs that go on keep the version that they have.",
  tag: "graphs",
  params,
  query: tenantQuery,
  body: json(PublishBody),
  answers: { 200: ListedGraphSchema },
  failures: {
    400: "`GRAPH_INVALID`, with `problems`.",
    404: "There is no such graph, or no such version.",
    409: "`GRAPH_CONFLICT`, `GRAPH_RUNNER_UNKNOWN`.",
  },
});

const UNPUBLISH = describe({
  operationId: "unpublishGraph",
  summary: "Withdraws the published version of a graph, so that nothing triggers it any more.",
  tag: "graphs",
  params,
  query: tenantQuery,
  answers: { 200: ListedGraphSchema },
  failures: { 404: "There is no such graph." },
});

const LIST = describe({
  operationId: "listGraphs",
  summary: "Lists graphs, by tenant and id.",
  tag: "graphs",
  query: Type.Object({
    tenant: Type.Optional(Type.String({ description: "Only graphs of this tenant." })),
    limit: Limit,
    cursor: Type.Optional(Type.String({ description: "The `nextCursor` of the page before." })),
  }),
  answers: { 200: Type.Object({ graphs: Type.Array(ListedGraphSchema), nextCursor: orNull(Type.String()) }) },
});

const GET = describe({
  operationId: "getGraph",
  summary: "Shows a graph: its draft, or one of its versions.",
  tag: "graphs",
  params,
  query: Type.Object({
    tenant: Tenant,
    version: Type.Optional(Type.String({ description: "A number, `published`, or `draft` (default)." })),
    problems: Type.Optional(
      Type.String({
        description:
          "`1`: with the `problems` of the draft; every name is accepted as a node type. Validating a large graph takes a moment: ask once for each `revision`.",
      }),
    ),
  }),
  answers: { 200: GraphDefinitionSchema },
  failures: { 404: "There is no such graph, or no such version.", 409: "`GRAPH_NOT_PUBLISHED`." },
});

const VERSIONS = describe({
  operationId: "listGraphVersions",
  summary: "Lists the versions of a graph, the newest first.",
  tag: "graphs",
  params,
  query: Type.Object({
    tenant: Tenant,
    limit: Limit,
    before: Type.Optional(Type.Integer({ description: "Only versions below this one." })),
  }),
  answers: { 200: Type.Object({ versions: Type.Array(GraphVersionSchema) }) },
  failures: { 404: "There is no such graph." },
});

const DELETE = describe({
  operationId: "deleteGraph",
  summary: "Deletes a graph with its versions and triggers. Its runs go on.",
  tag: "graphs",
  params,
  query: Type.Object({
    tenant: Tenant,
    force: Type.Optional(Type.String({ description: "`1`: also while runs of it go on." })),
  }),
  answers: { 200: Type.Object({ deleted: Type.Literal(true), id: Type.String(), tenant: Type.String() }) },
  failures: { 404: "There is no such graph.", 409: "`GRAPH_IN_USE`." },
});

export function graphsApi(app: Hono, { store, dispatcher, newId }: HttpParts): void {
  const definitions = new GraphDefinitions({ store, dispatcher, newId });

  app.put("/v1/graphs/:id", PUT, limitBody(MAX_GRAPH_BODY_BYTES), async (c) => {
    const body = await fieldsOf(c, Object.keys(PutBody.properties), "parsed");
    const expectedRevision = wholeIn("expectedRevision", body.expectedRevision, 0);
    const { graph, problems } = await definitions.put(graphNameIn(c), {
      graph: body.graph,
      ...(expectedRevision === undefined ? {} : { expectedRevision }),
      ...runnerIn(body),
      ...nodeTypesIn(body),
    });
    return answerJson(c, definitionView(graph, graph.draftJson, { problems }));
  });

  app.post("/v1/graphs/:id/publish", PUBLISH, limitBody(MAX_BODY_BYTES), async (c) => {
    const body = await fieldsOf(c, Object.keys(PublishBody.properties), "parsed");
    const expectedRevision = wholeIn("expectedRevision", body.expectedRevision, 1);
    const version = wholeIn("version", body.version, 1);
    const graph = await definitions.publish(graphNameIn(c), {
      ...(expectedRevision === undefined ? {} : { expectedRevision }),
      ...(version === undefined ? {} : { version }),
      ...nodeTypesIn(body),
      ...dispatchIn(body),
    });
    return c.json(graphView(graph));
  });

  app.post("/v1/graphs/:id/unpublish", UNPUBLISH, async (c) =>
    c.json(graphView(await definitions.unpublish(graphNameIn(c)))),
  );

  app.get("/v1/graphs", LIST, async (c) => {
    const limit = limitIn(c.req.query("limit"));
    const tenant = tenantOf(c.req.query("tenant"));
    const after = placeIn(c.req.query("cursor"));
    const found = await store.listGraphs({
      environment: c.get("environment"),
      limit: limit + 1,
      ...(tenant === undefined ? {} : { tenant }),
      ...(after === undefined ? {} : { after }),
    });
    const graphs = found.slice(0, limit);
    const last = graphs.at(-1);
    return c.json({ graphs: graphs.map(graphView), nextCursor: last && found.length > limit ? cursorOf(last) : null });
  });

  app.get("/v1/graphs/:id", GET, async (c) => {
    const name = graphNameIn(c);
    const graph = await definitions.get(name);
    const asked = c.req.query("version") ?? "draft";
    if (asked === "draft") {
      if (!switchIn("problems", c.req.query("problems"))) return answerJson(c, definitionView(graph, graph.draftJson));
      const { problems } = await definitions.check(name, JSON.parse(graph.draftJson));
      return answerJson(c, definitionView(graph, graph.draftJson, { problems }));
    }
    const version = asked === "published" ? undefined : wholeIn("version", asked, 1);
    const { snapshotJson, version: found } = await definitions.snapshot(graph, version);
    const text = JSON.stringify(readSnapshot(snapshotJson).graph);
    return answerJson(c, { ...definitionView({ ...graph, version: found }, text) });
  });

  app.get("/v1/graphs/:id/versions", VERSIONS, async (c) => {
    const { uid } = await definitions.get(graphNameIn(c));
    const before = wholeIn("before", c.req.query("before"), 1);
    const versions = await store.listGraphVersions(uid, limitIn(c.req.query("limit")), before);
    return c.json({ versions: versions.map(versionView) });
  });

  app.delete("/v1/graphs/:id", DELETE, async (c) => {
    const name = graphNameIn(c);
    await definitions.delete(name, c.req.query("force") === "1");
    return c.json({ deleted: true, id: name.id, tenant: name.tenant });
  });
}

const limitIn = (text: string | undefined): number =>
  Math.min(wholeIn("limit", text ?? DEFAULT_LIMIT, 1) ?? DEFAULT_LIMIT, MAX_LIMIT);
