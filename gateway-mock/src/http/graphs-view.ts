/** How graphs look in answers, and the schemas of that. */
import type { GraphProblem } from "@holdfast/graph/definition";
import { type ListedGraph, type ListedGraphVersion, plainName } from "@holdfast/store";
import Type from "typebox";
import { isoTime, isoTimeOrNull } from "./iso-time.ts";
import { storedJson } from "./json-answer.ts";
import { At, Ms, orNull } from "./openapi/schemas.ts";

export const GraphSchema = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    nodes: Type.Array(Type.Object({}, { additionalProperties: true })),
    edges: Type.Array(Type.Object({}, { additionalProperties: true })),
  },
  { additionalProperties: true, title: "Graph", description: "Nodes and edges: docs/graphs.md." },
);

const FIELDS = {
  id: Type.String(),
  tenant: Type.String({ description: "The tenant that it belongs to; empty if it has none." }),
  title: Type.String(),
  runner: orNull(Type.String({ description: "The function that runs it; null = the only one there is." })),
  revision: Type.Integer({ description: "The revision of the draft: starts at 1 and rises with each write." }),
  version: orNull(Type.Integer({ description: "The one that is published." })),
  lastVersion: Type.Integer({ description: "The highest version so far; 0 = none." }),
  createdAt: At,
  createdMs: Ms,
  updatedAt: At,
  updatedMs: Ms,
  publishedAt: orNull(At),
  publishedMs: orNull(Ms),
};

export const ListedGraphSchema = Type.Object(FIELDS, { title: "ListedGraph" });

export const ProblemSchema = Type.Object(
  {
    code: Type.String({ description: "`GRAPH_PROBLEM_CODES` of `@holdfast/graph`." }),
    nodeId: Type.Optional(Type.String()),
    edge: Type.Optional(Type.Integer({ description: "Its index in `edges`." })),
    path: Type.Optional(Type.String()),
    line: Type.Optional(Type.Integer({ description: "The line in the code at `path`, counted from 1." })),
    column: Type.Optional(Type.Integer({ description: "The column in that line, counted from 1." })),
    message: Type.String(),
    fix: Type.String(),
  },
  { title: "GraphProblem" },
);

export const GraphDefinitionSchema = Type.Object(
  {
    ...FIELDS,
    graph: GraphSchema,
    problems: Type.Optional(
      Type.Array(ProblemSchema, { description: "What has to be fixed before the draft can be published." }),
    ),
  },
  { title: "GraphDefinition" },
);

export const StoredGraphSchema = Type.Object(
  {
    ...FIELDS,
    graph: GraphSchema,
    problems: Type.Array(ProblemSchema, { description: "What has to be fixed before it can be published." }),
  },
  { title: "StoredGraph" },
);

export const GraphVersionSchema = Type.Object(
  { version: Type.Integer(), revision: Type.Integer(), publishedAt: At, publishedMs: Ms },
  {
    title: "GraphVersion",
    description: "When the version was published, and the revision of the draft that it was made from.",
  },
);

export function graphView(graph: ListedGraph): object {
  const { id, tenant, title, runner, revision, version, lastVersion, createdMs, updatedMs, publishedMs } = graph;
  return {
    id,
    tenant,
    title,
    runner: runner === null ? null : plainName(runner),
    revision,
    version,
    lastVersion,
    createdAt: isoTime(createdMs),
    createdMs,
    updatedAt: isoTime(updatedMs),
    updatedMs,
    publishedAt: isoTimeOrNull(publishedMs),
    publishedMs,
  };
}

export const definitionView = (
  graph: ListedGraph,
  graphJson: string,
  more: { readonly problems?: readonly GraphProblem[] } = {},
): object => ({ ...graphView(graph), ...more, graph: storedJson(graphJson) });

export const versionView = ({ version, revision, publishedMs }: ListedGraphVersion): object => ({
  version,
  revision,
  publishedAt: isoTime(publishedMs),
  publishedMs,
});
