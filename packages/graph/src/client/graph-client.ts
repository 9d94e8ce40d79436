/** The client of graphs for one tenant: each call is one of the gateway's API. */
import { HoldfastError } from "@holdfast/core";
import type { Holdfast, HoldfastFunction } from "holdfast";
import type { Graph } from "../definition/graph.ts";
import type { NodeTypeInfo } from "../definition/node-types.ts";
import type { GraphProblem } from "../definition/problems.ts";
import { validateGraph } from "../definition/validate-graph.ts";
import { own } from "../json/json-size.ts";
import { configProblems } from "../nodes/config-problems.ts";
import type { NodeType } from "../nodes/node-type.ts";
import type { GraphStatus } from "../status/graph-status.ts";
import { callGraphs, type GraphCalls, pathOf } from "./call-graphs.ts";
import type {
  ExecuteOptions,
  GraphDefinition,
  GraphPage,
  GraphRunHandle,
  Graphs,
  PutGraph,
  StoredGraph,
} from "./client-types.ts";
import { follow } from "./follow.ts";

/** What the clients of all tenants share. */
export interface ClientParts {
  readonly app: Holdfast;
  readonly types: ReadonlyMap<string, NodeType>;
  readonly infos: readonly NodeTypeInfo[];
  readonly runner: HoldfastFunction;
  /** Which function of which app runs the graphs. */
  readonly place: { readonly app: string; readonly runner: string };
  readonly dispatch?: "run" | "node";
}

type Started = { readonly runId: string; readonly isNew: boolean };

export class GraphClient implements Graphs {
  readonly #parts: ClientParts;
  readonly #tenant: string;
  readonly #call: GraphCalls;

  constructor(parts: ClientParts, tenant: string) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.#call = callGraphs(parts.app, tenant);
  }

  get runner(): HoldfastFunction {
    return this.#parts.runner;
  }

  forTenant(tenant: string): Graphs {
    return new GraphClient(this.#parts, tenant);
  }

  async validate(graph: unknown): Promise<GraphProblem[]> {
    const { infos, types } = this.#parts;
    return [...validateGraph(graph, { nodeTypes: infos }), ...(await configProblems(graph, types))];
  }

  async put(graph: Graph, { expectedRevision }: { readonly expectedRevision?: number } = {}): Promise<PutGraph> {
    const { infos, types, place } = this.#parts;
    const id = own(graph, "id");
    if (typeof id !== "string" || id === "") throw unusable(await this.validate(graph));
    const found = await configProblems(graph, types);
    const body = { graph, ...place, nodeTypes: infos, ...given({ expectedRevision }) };
    const stored = await this.#call<PutGraph>(pathOf(id), { method: "PUT", body });
    return { ...stored, problems: [...stored.problems, ...found] };
  }

  publish(
    id: string,
    options: { readonly expectedRevision?: number; readonly version?: number } = {},
  ): Promise<GraphDefinition> {
    return this.#call(`${pathOf(id)}/publish`, {
      body: { ...options, nodeTypes: this.#parts.infos, ...this.#dispatch },
    });
  }

  get(id: string, { version }: { readonly version?: number | "published" } = {}): Promise<StoredGraph> {
    return this.#call(pathOf(id), { query: texts({ version }) });
  }

  list(options: { readonly limit?: number; readonly cursor?: string } = {}): Promise<GraphPage> {
    return this.#call("v1/graphs", { query: texts(options) });
  }

  async delete(id: string, { force = false }: { readonly force?: boolean } = {}): Promise<void> {
    await this.#call(pathOf(id), { method: "DELETE", query: force ? { force: "1" } : {} });
  }

  async execute(id: string, input?: unknown, options: ExecuteOptions = {}): Promise<GraphRunHandle> {
    const body = { ...this.#parts.place, ...this.#dispatch, ...options, ...given({ input }) };
    return this.#handle(await this.#call(`${pathOf(id)}/runs`, { body }));
  }

  async test(graph: Graph, input?: unknown): Promise<GraphRunHandle> {
    const { place, infos } = this.#parts;
    const body = { graph, ...place, nodeTypes: infos, tenant: this.#tenant, ...this.#dispatch, ...given({ input }) };
    return this.#handle(await this.#call("v1/graph-tests", { body }));
  }

  async stopTest(runId: string): Promise<void> {
    await this.#call(`v1/graph-tests/${encodeURIComponent(runId)}`, { method: "DELETE" });
  }

  status(runId: string): Promise<GraphStatus> {
    return this.#call(`v1/runs/${encodeURIComponent(runId)}/graph`);
  }

  follow(runId: string, { signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<GraphStatus, void> {
    return follow(this.#parts.app, runId, () => this.status(runId), signal);
  }

  get #dispatch(): { readonly dispatch?: "run" | "node" } {
    const { dispatch } = this.#parts;
    return dispatch === undefined ? {} : { dispatch };
  }

  #handle({ runId, isNew }: Started): GraphRunHandle {
    return { ...this.#parts.app.runs.handle(runId), isNew };
  }
}

/** A graph without an id has no route. */
function unusable(problems: readonly GraphProblem[]): HoldfastError {
  const [first] = problems.map(({ message, fix }) => ` ${message} ${fix}`);
  return Object.assign(new HoldfastError("GRAPH_INVALID", `The graph cannot be stored.${first ?? ""}`), { problems });
}

/** Without what is undefined. */
function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

const texts = (fields: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given(fields)).map(([name, value]) => [name, String(value)]));
