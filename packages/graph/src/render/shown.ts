/** What a picture shows of a node: its label, its type, its state. */
import type { Graph, GraphEdge, GraphNode } from "../definition/graph.ts";
import type { GraphStatus, NodeStatus, NodeStatusKind } from "../status/graph-status.ts";

/** Of several iterations the one that tells most. */
const WEIGHT: Readonly<Record<NodeStatusKind, number>> = {
  failed: 7,
  running: 6,
  ready: 5,
  waiting: 4,
  done: 3,
  dead: 2,
  skipped: 1,
};

/** A node as a picture shows it. */
export interface ShownNode {
  /** Of a draft it may lack id and type. */
  readonly node: GraphNode;
  readonly label: string;
  /** Undefined without a status. */
  readonly status?: NodeStatusKind;
  /** How many iterations have ended, of those that began; undefined outside of loops. */
  readonly iterations?: string;
}

/** Of a run: what `GET /v1/runs/:id/graph` answers. */
export type ShownStatus = Pick<GraphStatus, "nodes">;

/** What of each node is to be seen, in the order of the graph; nodes within subgraphs are in none. */
export function shownNodes(graph: Graph, status?: ShownStatus): ShownNode[] {
  const byId = new Map<string, NodeStatus[]>();
  for (const each of status?.nodes ?? []) {
    if (each.path.length > 0) continue;
    const list = byId.get(each.id);
    if (list) list.push(each);
    else byId.set(each.id, [each]);
  }
  return graph.nodes.map((node) => {
    const label = labelOf(node);
    const found = byId.get(node.id) ?? [];
    if (status === undefined || found.length === 0) return { node, label };
    const most = found.reduce((one, other) => (WEIGHT[other.status] > WEIGHT[one.status] ? other : one));
    const inLoop = found.some(({ iteration }) => iteration.length > 0);
    const ended = found.filter((each) => ["done", "failed", "skipped", "dead"].includes(each.status)).length;
    return { node, label, status: most.status, ...(inLoop ? { iterations: `${ended}/${found.length}` } : {}) };
  });
}

/** What there is of it that says most. */
const labelOf = ({ title, id, type }: Partial<GraphNode>): string => title || id || type || "?";

/** An edge as a picture shows it. */
export interface ShownEdge {
  readonly edge: GraphEdge;
  /** Where its nodes stand in the graph. They are named by that: ids are texts of users, and not all are there. */
  readonly from: number;
  readonly to: number;
}

/** Edges that have both ends, in the order of the graph. */
export function shownEdges({ nodes, edges }: Graph): ShownEdge[] {
  const places = new Map<string, number>();
  for (const [index, { id }] of nodes.entries()) if (id !== undefined && !places.has(id)) places.set(id, index);
  return edges.flatMap((edge) => {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    return from === undefined || to === undefined ? [] : [{ edge, from, to }];
  });
}

/** What stands on an edge: nothing for the usual way on. */
export const edgeLabel = (handle: string | undefined): string =>
  handle === undefined || handle === "out" ? "" : handle;
