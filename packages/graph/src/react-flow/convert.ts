/**
 * Graphs to and from the JSON of React Flow, so that an editor made with it can be put on top. What React Flow alone
 * has (selection, sizes, styles) does not come back; what we alone have travels in `data`.
 */
import { DEFAULT_HANDLE, type Graph, type GraphEdge, type GraphNode } from "../definition/graph.ts";
import { handlesOf, type NodeTypeInfo } from "../definition/node-types.ts";

/** The part of React Flow's `Node` that is used. */
export interface FlowNode {
  readonly id: string;
  readonly type?: string;
  readonly position: { readonly x: number; readonly y: number };
  readonly data: FlowData;
}

/** A `type` only, as nodes have their own components. */
export type FlowData = Omit<GraphNode, "id" | "type" | "position"> & {
  /** For the component of the node: what stands on it, and which source handles it has. */
  readonly label?: string;
  readonly handles?: readonly string[];
};

/** The part of React Flow's `Edge` that is used. */
export interface FlowEdge {
  readonly id: string;
  readonly source: string;
  readonly sourceHandle?: string | null;
  readonly target: string;
}

export interface Flow {
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
}

export interface ToReactFlowOptions {
  /** Types of the app, for their handles. */
  readonly nodeTypes?: readonly NodeTypeInfo[];
}

/** Nodes without a position stand in a row; `toSvg` shows what a layout makes of them. */
export function toReactFlow(graph: Graph, { nodeTypes = [] }: ToReactFlowOptions = {}): Flow {
  const nodes = graph.nodes.map((node, index): FlowNode => {
    const { id, type, position = { x: 0, y: index * 100 }, ...data } = node;
    const handles = handlesOf(node, nodeTypes) ?? [DEFAULT_HANDLE];
    return { id, type, position, data: { ...data, label: node.title ?? id, handles } };
  });
  const edges = graph.edges.map(
    ({ from, handle = DEFAULT_HANDLE, to }): FlowEdge => ({
      id: `${from}.${handle}->${to}`,
      source: from,
      sourceHandle: handle,
      target: to,
    }),
  );
  return { nodes, edges };
}

/** The graph that was drawn; `base` has what is not drawn: id, title, input and triggers. */
export function fromReactFlow({ nodes, edges }: Flow, base: Omit<Graph, "nodes" | "edges">): Graph {
  return {
    ...base,
    nodes: nodes.map(({ id, type = "", position: { x, y }, data }): GraphNode => {
      const { label: _, handles: __, ...own } = data;
      return { id, type, ...own, position: { x, y } };
    }),
    edges: edges.map(({ source, sourceHandle, target }): GraphEdge => {
      const handle = sourceHandle ?? DEFAULT_HANDLE;
      return { from: source, ...(handle === DEFAULT_HANDLE ? {} : { handle }), to: target };
    }),
  };
}
