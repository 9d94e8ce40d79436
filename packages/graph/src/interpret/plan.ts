/** A graph in the form in which it is run: nodes by number, their ways out, which loop's body each is in. */
import { DEFAULT_HANDLE, ERROR_HANDLE, type Graph, type GraphNode } from "../definition/graph.ts";
import { layoutOf, type Scope } from "../definition/layout.ts";
import { outputNameOf } from "../definition/node-checks.ts";

export interface PlanEdge {
  readonly handle: string;
  readonly to: PlanNode;
}

export interface PlanNode {
  /** Its number in the graph. */
  readonly index: number;
  readonly node: GraphNode;
  /** What its output is called in `ctx`. */
  readonly name: string;
  readonly joinsAny: boolean;
  /** Its errors go on at the `error` handle. */
  readonly continues: boolean;
  readonly out: PlanEdge[];
  /** How many edges lead to it, without those that lead back to a loop. */
  incoming: number;
}

/** The graph itself, or the body of a loop. */
export interface PlanScope {
  readonly nodes: PlanNode[];
  /** Nodes with an edge back to the loop, and the handle where it begins. */
  readonly back: PlanEdge[];
}

export interface Plan {
  readonly graph: Graph;
  /** As they stand in the graph. */
  readonly nodes: readonly PlanNode[];
  readonly start: PlanNode;
  readonly root: PlanScope;
  /** By the number of the loop's node. */
  readonly bodies: ReadonlyMap<number, PlanScope>;
  /** By the name of the output. */
  readonly names: ReadonlyMap<string, PlanNode>;
  readonly size: number;
}

/** The graph must be valid. */
export function planOf(graph: Graph): Plan {
  const edges = graph.edges.map((edge, index) => ({ ...edge, index }));
  const withErrorEdge = new Set(edges.flatMap(({ from, handle }) => (handle === ERROR_HANDLE ? [from] : [])));
  const nodes = graph.nodes.map((node, index): PlanNode => {
    const continues = node.onError === undefined ? withErrorEdge.has(node.id) : node.onError === "continue";
    const joinsAny = node.joinMode === "any";
    return { index, node, name: outputNameOf(node), joinsAny, continues, out: [], incoming: 0 };
  });
  const byId = new Map(nodes.map((node) => [node.node.id, node]));
  const start = nodes.find(({ node }) => node.type === "start") as PlanNode;
  const layout = layoutOf({ nodes: graph.nodes, edges }, start.node);
  const root: PlanScope = { nodes: [], back: [] };
  const bodies = new Map<number, PlanScope>();
  for (const id of layout.loops.keys()) bodies.set((byId.get(id) as PlanNode).index, { nodes: [], back: [] });
  const scopeOf = (scope: Scope | undefined): PlanScope =>
    (scope?.loop === undefined ? root : bodies.get((byId.get(scope.loop) as PlanNode).index)) ?? root;
  for (const node of nodes) scopeOf(layout.scopes.get(node.node.id)).nodes.push(node);
  for (const edge of edges) {
    const [from, to] = [byId.get(edge.from) as PlanNode, byId.get(edge.to) as PlanNode];
    const way = { handle: edge.handle ?? DEFAULT_HANDLE, to };
    if (layout.back.has(edge.index)) scopeOf(layout.scopes.get(edge.from)).back.push({ ...way, to: from });
    else {
      from.out.push(way);
      to.incoming += 1;
    }
  }
  return {
    graph,
    nodes,
    start,
    root,
    bodies,
    names: new Map(nodes.map((node) => [node.name, node])),
    size: nodes.length,
  };
}
