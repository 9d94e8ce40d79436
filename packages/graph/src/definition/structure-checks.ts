/** Whether nodes and edges fit together: ends, handles, what can be reached, circles, bodies of loops. Linear. */
import { DEFAULT_HANDLE, ERROR_HANDLE } from "./graph.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import { handlesOf, type NodeTypeInfo } from "./node-types.ts";
import type { Problems } from "./problems.ts";
import type { ReadEdge, ReadGraph, ReadNode } from "./read-graph.ts";

/** @returns how the graph is laid out; undefined when it has no start */
export function checkStructure(
  graph: ReadGraph,
  types: readonly NodeTypeInfo[] | "any",
  problems: Problems,
): Layout | undefined {
  const nodes = [...graph.unread, ...graph.nodes];
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = graph.edges.filter((edge) => checkEnds(edge, byId, problems));
  const seen = new Set<string>();
  for (const edge of edges) {
    checkHandle(edge, byId.get(edge.from), types, problems);
    if (edge.handle === ERROR_HANDLE && byId.get(edge.from)?.onError === "fail") {
      const message = `The \`error\` handle of "${edge.from}" is never taken, since its \`onError\` is \`fail\`.`;
      const fix = "Remove the edge, or `onError`.";
      problems.add({ code: "ON_ERROR_INVALID", edge: edge.index, nodeId: edge.from, message, fix });
    }
    const key = JSON.stringify([edge.from, edge.handle ?? DEFAULT_HANDLE, edge.to]);
    if (seen.has(key)) {
      const message = `There are two edges from "${edge.from}" to "${edge.to}" at the same handle.`;
      problems.add({ code: "EDGE_DUPLICATE", edge: edge.index, message, fix: "Remove one of them." });
    }
    seen.add(key);
  }
  const start = checkStart(nodes, problems);
  if (start === undefined) return undefined;
  const layout = layoutOf({ nodes, edges }, start);
  reportLayout(graph, edges, start, layout, problems);
  return layout;
}

function checkEnds(edge: ReadEdge, byId: ReadonlyMap<string, ReadNode>, problems: Problems): boolean {
  const missing = [edge.from, edge.to].filter((id) => !byId.has(id));
  for (const id of missing) {
    const message = `The edge from "${edge.from}" to "${edge.to}" names "${id}", and there is no such node.`;
    problems.add({ code: "EDGE_DANGLING", edge: edge.index, message, fix: "Remove the edge, or add the node." });
  }
  if (missing.length === 0 && byId.get(edge.to)?.type === "start") {
    const message = `The edge from "${edge.from}" leads into the start.`;
    problems.add({ code: "EDGE_INTO_START", edge: edge.index, message, fix: "Let it end at another node." });
    return false;
  }
  return missing.length === 0;
}

function checkHandle(
  edge: ReadEdge,
  node: ReadNode | undefined,
  types: readonly NodeTypeInfo[] | "any",
  problems: Problems,
): void {
  const handles = node && handlesOf(node, types);
  if (!node || !handles || handles.includes(edge.handle ?? DEFAULT_HANDLE)) return;
  const place = { edge: edge.index, nodeId: node.id };
  if (handles.length === 0) {
    const message = `The edge to "${edge.to}" begins at "${node.id}", where nothing goes on.`;
    problems.add({ code: "HANDLE_UNKNOWN", ...place, message, fix: "Let it begin at another node." });
    return;
  }
  const fix = `Name one of its handles: ${handles.join(", ")}.`;
  if (edge.handle === undefined) {
    const message = `The edge from "${node.id}" to "${edge.to}" does not say at which handle it begins.`;
    problems.add({ code: "HANDLE_MISSING", ...place, message, fix });
  } else {
    const message = `The node "${node.id}" (${node.type}) has no handle "${edge.handle}".`;
    problems.add({ code: "HANDLE_UNKNOWN", ...place, message, fix });
  }
}

function checkStart(nodes: readonly ReadNode[], problems: Problems): ReadNode | undefined {
  const [start, ...others] = nodes.filter(({ type }) => type === "start");
  if (start === undefined) {
    problems.add({ code: "NO_START", message: "No node is of type `start`.", fix: "Add one; runs begin there." });
  }
  for (const { id } of others) {
    const message = `"${id}" is a further node of type \`start\`.`;
    problems.add({ code: "START_DUPLICATE", nodeId: id, message, fix: "Have one, and edges from it to both parts." });
  }
  return start;
}

function reportLayout(
  graph: ReadGraph,
  edges: readonly ReadEdge[],
  start: ReadNode,
  layout: Layout,
  problems: Problems,
): void {
  if (graph.nodes.length + graph.unread.length > 1 && !edges.some(({ from }) => from === start.id)) {
    const message = `No edge leads away from "${start.id}".`;
    problems.add({ code: "NOTHING_REACHABLE", nodeId: start.id, message, fix: "Connect it to the first node." });
  }
  for (const node of graph.nodes) reportNode(node, edges, layout, problems);
  for (const index of layout.crossing) {
    const edge = graph.edges[index];
    const message = `The edge from "${edge?.from}" to "${edge?.to}" leads into or out of the body of a loop.`;
    const fix = "The body is what follows the `loop` handle; what comes after it begins at `done`.";
    problems.add({ code: "LOOP_CROSSED", edge: index, message, fix });
  }
  if (layout.cyclic.length > 0) {
    const ids = layout.cyclic.map((id) => `"${id}"`);
    const shown = ids.length > 10 ? `${ids.slice(0, 10).join(", ")} and ${ids.length - 10} more` : ids.join(", ");
    const fix = "Remove an edge of it, or repeat nodes with a `loop` node.";
    const message = `Edges form a circle: ${shown}.`;
    problems.add({ code: "CYCLE", nodeId: layout.cyclic[0] as string, message, fix });
  }
}

function reportNode(node: ReadNode, edges: readonly ReadEdge[], layout: Layout, problems: Problems): void {
  const scope = layout.scopes.get(node.id);
  if (scope === undefined && node.type !== "start") {
    const message = `No path leads from the start to "${node.id}".`;
    problems.add({ code: "NODE_UNREACHABLE", nodeId: node.id, message, fix: "Connect it, or remove it." });
  }
  if (node.type !== "loop") return;
  if (!layout.loops.has(node.id) && !edges.some((edge) => edge.from === node.id && edge.handle === "loop")) {
    const message = `The loop "${node.id}" has no edge at its \`loop\` handle.`;
    problems.add({
      code: "HANDLE_UNCONNECTED",
      nodeId: node.id,
      message,
      fix: "Connect it to the first node of the body.",
    });
  }
  if ((scope?.depth ?? 0) >= GRAPH_LIMITS.maxLoopDepth) {
    const message = `The loop "${node.id}" is in ${scope?.depth} others; the limit is ${GRAPH_LIMITS.maxLoopDepth} levels.`;
    problems.add({
      code: "LOOP_TOO_DEEP",
      nodeId: node.id,
      message,
      fix: "Move the inner loops into a graph of their own.",
    });
  }
}
