/** `graphs`: definitions at a gateway, listed, printed, stored, published, run and deleted. */
import { isRecord } from "@holdfast/protocol";
import { type Rows, usage } from "../config/settings.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import {
  GRAPH_DELETE_OPTIONS,
  GRAPH_GET_OPTIONS,
  GRAPH_OPTIONS,
  GRAPH_PUBLISH_OPTIONS,
  GRAPH_PUT_OPTIONS,
  GRAPH_RUN_OPTIONS,
  GRAPHS_OPTIONS,
} from "./graph-commands.ts";
import { jsonArgument, jsonFile } from "./json-argument.ts";
import { printJson } from "./output.ts";
import { oneLine, tableText } from "./table.ts";
import { noteUnknown } from "./unknown-names.ts";

interface ShownGraph {
  readonly id: string;
  readonly tenant: string;
  readonly title: string;
  readonly revision: number;
  readonly version: number | null;
  readonly updatedAt: string;
}

interface Problem {
  readonly code: string;
  readonly nodeId?: string;
  readonly message: string;
  readonly fix: string;
}

/** The path of a graph's route. */
function pathOf(
  id: string,
  rest: string,
  tenant: string | undefined,
  query: Readonly<Record<string, string>> = {},
): string {
  const asked = new URLSearchParams({ ...query, ...(tenant === undefined ? {} : { tenant }) }).toString();
  return `/v1/graphs/${encodeURIComponent(id)}${rest}${asked === "" ? "" : `?${asked}`}`;
}

export async function listGraphs(context: CommandContext): Promise<ExitCode> {
  const { json, tenant, limit, cursor } = readOptions(GRAPHS_OPTIONS, context);
  const { output } = context;
  const query = new URLSearchParams({ limit: String(limit) });
  if (tenant !== undefined) query.set("tenant", tenant);
  if (cursor !== undefined) query.set("cursor", cursor);
  const client = clientOf(context);
  const page = await client.get<{
    readonly graphs: readonly ShownGraph[];
    readonly nextCursor: string | null;
  }>(`/v1/graphs?${query}`);
  if (json) printJson(output, page);
  else if (page.graphs.length === 0) {
    output.note("There are no graphs.\n");
    await noteUnknown(context, client);
  } else {
    const rows = page.graphs.map((one) => [
      one.id,
      one.tenant === "" ? "-" : one.tenant,
      String(one.revision),
      one.version === null ? "-" : String(one.version),
      one.updatedAt,
      one.title,
    ]);
    const headings = ["GRAPH", "TENANT", "REVISION", "PUBLISHED", "CHANGED", "TITLE"];
    output.print(tableText(headings, rows, output.isTerminal ? output.columns : 0));
  }
  if (!json && page.nextCursor !== null) output.note(`More: --cursor ${page.nextCursor}\n`);
  return EXIT.done;
}

export async function getGraph(context: CommandContext): Promise<ExitCode> {
  const { json, tenant, graphVersion } = readOptions(GRAPH_GET_OPTIONS, context);
  const { output, args } = context;
  const query = graphVersion === undefined ? {} : { version: graphVersion };
  const found = await clientOf(context).get<{ readonly graph: object }>(pathOf(args[0] ?? "", "", tenant, query));
  if (json) printJson(output, found);
  else output.print(`${JSON.stringify(found.graph, null, 2)}\n`);
  return EXIT.done;
}

export async function putGraph(context: CommandContext): Promise<ExitCode> {
  const { json, tenant, app, revision, publish } = readOptions(GRAPH_PUT_OPTIONS, context);
  const { output, args } = context;
  const [file = ""] = args;
  const graph = jsonFile(file);
  if (!isRecord(graph) || typeof graph.id !== "string") throw usage(`${file} has no graph: an object with an \`id\`.`);
  const client = clientOf(context);
  const body = {
    graph,
    ...(app === undefined ? {} : { app }),
    ...(revision === undefined ? {} : { expectedRevision: revision }),
  };
  const stored = await client.put<ShownGraph & { readonly problems: readonly Problem[] }>(
    pathOf(graph.id, "", tenant),
    body,
  );
  const expectedRevision = { expectedRevision: stored.revision };
  const published = publish
    ? await client.post<ShownGraph>(pathOf(graph.id, "/publish", tenant), expectedRevision)
    : undefined;
  if (json) printJson(output, { ...stored, ...published });
  else {
    output.print(
      `${graph.id}  revision ${stored.revision}${published ? `, published as version ${published.version}` : ""}\n`,
    );
    for (const { code, nodeId, message, fix } of stored.problems) {
      output.print(`  ${code}${nodeId === undefined ? "" : ` (${nodeId})`}: ${oneLine(`${message} ${fix}`)}\n`);
    }
  }
  return EXIT.done;
}

export async function publishGraph(context: CommandContext): Promise<ExitCode> {
  const { graphVersion: version } = readOptions(GRAPH_PUBLISH_OPTIONS, context);
  const body = version === undefined ? {} : { version };
  return changed(context, GRAPH_PUBLISH_OPTIONS, "/publish", body, (graph) => `version ${graph.version} is published`);
}

export const unpublishGraph = (context: CommandContext): Promise<ExitCode> =>
  changed(context, GRAPH_OPTIONS, "/unpublish", undefined, () => "no version is published");

async function changed(
  context: CommandContext,
  rows: Rows & typeof GRAPH_OPTIONS,
  rest: string,
  body: object | undefined,
  say: (graph: ShownGraph) => string,
): Promise<ExitCode> {
  const { json, tenant } = readOptions(rows, context);
  const { output, args } = context;
  const [id = ""] = args;
  const graph = await clientOf(context).post<ShownGraph>(pathOf(id, rest, tenant), body);
  if (json) printJson(output, graph);
  else output.print(`${id}  ${say(graph)}\n`);
  return EXIT.done;
}

export async function runGraph(context: CommandContext): Promise<ExitCode> {
  const { json, tenant, input, graphVersion: version, id: runKey, app } = readOptions(GRAPH_RUN_OPTIONS, context);
  const { output, args } = context;
  const [id = ""] = args;
  const body = {
    ...(input === undefined ? {} : { input: jsonArgument("--input", input) }),
    ...(version === undefined ? {} : { version }),
    ...(runKey === undefined ? {} : { id: runKey }),
    ...(app === undefined ? {} : { app }),
  };
  const path = pathOf(id, "/runs", tenant);
  const started = await clientOf(context).post<{ readonly runId: string; readonly isNew: boolean }>(path, body);
  if (json) printJson(output, started);
  else output.print(`${started.runId}${started.isNew ? "" : "  was there already"}\n`);
  return EXIT.done;
}

export async function deleteGraph(context: CommandContext): Promise<ExitCode> {
  const { json, tenant, force } = readOptions(GRAPH_DELETE_OPTIONS, context);
  const { output, args } = context;
  const [id = ""] = args;
  const query = force ? { force: "1" } : {};
  const deleted = await clientOf(context).delete<object>(pathOf(id, "", tenant, query));
  if (json) printJson(output, deleted);
  else output.print(`${id}  deleted\n`);
  return EXIT.done;
}
