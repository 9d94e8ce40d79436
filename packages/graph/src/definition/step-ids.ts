/** How long the ids of steps become where graphs are within graphs: each has the ids of the nodes around it. */
import { own } from "../json/json-size.ts";
import type { Graph, GraphNode } from "./graph.ts";
import { layoutOf } from "./layout.ts";
import { GRAPH_LIMITS } from "./limits.ts";

/** What any step may have. */
export const MAX_STEP_ID_CHARS = 256;

/** As in `[9999]`. */
const ITERATION_CHARS = String(GRAPH_LIMITS.maxLoopItems - 1).length + 2;
const UNDO_CHARS = "~undo".length;

export interface LongestId {
  readonly chars: number;
  /** The subgraphs around the node, and the node. */
  readonly path: readonly string[];
}

/**
 * The longest id of a step, with the largest numbers of iterations that loops may have. The graphs must be valid, and none
 * may contain itself. `inner`: that of the graph which a node names.
 */
export function longestId(graph: Graph, inner: (node: GraphNode) => LongestId | undefined): LongestId {
  const edges = graph.edges.map((edge, index) => ({ ...edge, index }));
  const start = graph.nodes.find(({ type }) => type === "start") as GraphNode;
  const { scopes } = layoutOf({ nodes: graph.nodes, edges }, start);
  let longest: LongestId = { chars: 0, path: [] };
  for (const node of graph.nodes) {
    const below = node.type === "subgraph" ? inner(node) : undefined;
    const ownChars = node.id.length + ITERATION_CHARS * (scopes.get(node.id)?.depth ?? 0);
    const more = below === undefined ? undoChars(node) : 1 + below.chars;
    if (ownChars + more <= longest.chars) continue;
    longest = { chars: ownChars + more, path: [node.id, ...(below?.path ?? [])] };
  }
  return longest;
}

const undoChars = (node: GraphNode): number => (own(node, "compensate") === undefined ? 0 : UNDO_CHARS);
