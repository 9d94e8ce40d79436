/** Runs graphs in memory, on the gateway's decisions. */
import { Holdfast } from "holdfast";
import { FunctionTest, type FunctionTestOptions, type TestRun } from "holdfast/testing";
import { GRAPH_RUN_EVENT, type Graph, type GraphNode, graphs, type NodeType } from "../../src/index.ts";

export interface RunOptions extends Pick<FunctionTestOptions, "steps" | "functions" | "replay"> {
  readonly input?: unknown;
  readonly graphs?: Readonly<Record<string, Graph>>;
  readonly nodeTypes?: readonly NodeType[];
  readonly retries?: number;
}

export const app = new Holdfast({ id: "shop", isDev: true });

export async function runGraph(graph: Graph, options: RunOptions = {}): Promise<TestRun> {
  const { input = null, graphs: inner = {}, nodeTypes = [], retries = 0, ...rest } = options;
  const { runner } = graphs(app, { nodeTypes, retries, sandbox: "main" });
  const data = { graph, graphs: inner, graphId: graph.id, version: 1, input };
  return new FunctionTest(runner, { event: { name: GRAPH_RUN_EVENT, data }, ...rest }).run();
}

/** `a -> b`, `a.error -> b`: the handle after the last dot of what is not a node's id. */
export const edgesOf = (text: string): Graph["edges"] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .flatMap((line) => {
      const stops = line.split("->").map((stop) => stop.trim());
      return stops.slice(1).map((to, at) => {
        const [from = "", handle] = (stops[at] as string).split(".");
        return { from, ...(handle === undefined ? {} : { handle }), to: (to.split(".")[0] as string).trim() };
      });
    });

export function graphOf(nodes: readonly GraphNode[], edges: string, more: Partial<Graph> = {}): Graph {
  return {
    id: "g",
    title: "A graph",
    nodes: [{ id: "start", type: "start" }, ...nodes],
    edges: edgesOf(edges),
    ...more,
  };
}
