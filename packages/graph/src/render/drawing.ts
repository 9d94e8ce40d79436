/** Where a picture of a graph has its nodes and edges: laid out in layers, in whole and tenth pixels. */
import dagre from "@dagrejs/dagre";
import type { Graph, GraphNode } from "../definition/graph.ts";
import { type Figure, figureOf } from "./mermaid.ts";
import { edgeLabel, type ShownNode, shownEdges, shownNodes } from "./shown.ts";

/** Which way a drawing goes. */
export interface DrawingOptions {
  /** "down" (default), or to the "right". */
  readonly direction?: "down" | "right";
}

/** In pixels, from the upper left corner. */
export interface DrawnPoint {
  readonly x: number;
  readonly y: number;
}

/** A node, and where it is. */
export interface DrawnNode {
  /** Id of the node; empty where a draft has none yet. */
  readonly id: string;
  /** Empty where a draft has none yet. */
  readonly type: string;
  /** Its title, or else its id, or its type; long ones are cut. */
  readonly label: string;
  readonly figure: Figure;
  /** Of its middle. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An edge, and its line. */
export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  /** Which way out of the node it takes; empty for the usual one. */
  readonly label: string;
  /** From its beginning to its end. */
  readonly points: readonly DrawnPoint[];
  /** The middle of its label; null without one. */
  readonly labelAt: DrawnPoint | null;
}

/** A graph laid out in layers; all of it in pixels. */
export interface GraphDrawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

const CHAR_WIDTH = 7.2;
const HEIGHT = 40;
const MARGIN = 16;
const MAX_LABEL = 40;

/** Lays out a graph, so that it can be drawn where nothing can lay it out. Edges to nodes that there are not are left out. */
export function drawGraph(graph: Graph, options: DrawingOptions = {}): GraphDrawing {
  return layOut(graph, shownNodes(graph), options);
}

/** With labels as they are shown. */
export function layOut(
  graph: Graph,
  shown: readonly ShownNode[],
  { direction = "down" }: DrawingOptions,
): GraphDrawing {
  const layout = new dagre.graphlib.Graph({ multigraph: true });
  const rankdir = direction === "down" ? "TB" : "LR";
  layout.setGraph({ rankdir, marginx: MARGIN, marginy: MARGIN, nodesep: 30, ranksep: 45 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const [index, one] of shown.entries()) {
    layout.setNode(nameOf(index), { width: widthOf(labelOf(one)), height: HEIGHT });
  }
  const edges = shownEdges(graph);
  for (const [index, { edge, from, to }] of edges.entries()) {
    const width = edgeLabel(edge.handle).length * CHAR_WIDTH;
    const size = { width, height: width === 0 ? 0 : 14, labelpos: "c" };
    layout.setEdge(nameOf(from), nameOf(to), size, String(index));
  }
  dagre.layout(layout);
  const { width = 0, height = 0 } = layout.graph();
  return {
    width: round(width),
    height: round(height),
    nodes: shown.map((one, index) => drawnNode(one, layout.node(nameOf(index)))),
    edges: edges.map(({ edge, from, to }, index) => {
      const { points, x, y } = layout.edge(nameOf(from), nameOf(to), String(index)) as LaidEdge;
      const label = edgeLabel(edge.handle);
      const labelAt = label === "" || x === undefined || y === undefined ? null : pointOf({ x, y });
      return { from: edge.from, to: edge.to, label, points: points.map(pointOf), labelAt };
    }),
  };
}

/** What the layout calls a node: it keeps names in plain objects, where `__proto__` is another thing. */
const nameOf = (index: number): string => `n${index}`;

interface LaidEdge {
  readonly points: readonly DrawnPoint[];
  readonly x?: number;
  readonly y?: number;
}

function drawnNode(
  shown: ShownNode,
  { x, y, width, height }: DrawnPoint & { readonly width: number; readonly height: number },
): DrawnNode {
  const { id = "", type = "" }: Partial<GraphNode> = shown.node;
  const size = { width: round(width), height: round(height) };
  return { id, type, label: labelOf(shown), figure: figureOf(type), ...pointOf({ x, y }), ...size };
}

const pointOf = ({ x, y }: DrawnPoint): DrawnPoint => ({ x: round(x), y: round(y) });

const labelOf = ({ label, iterations }: ShownNode): string => {
  const text = label.length > MAX_LABEL ? `${label.slice(0, MAX_LABEL - 1)}…` : label;
  return iterations === undefined ? text : `${text} ${iterations}`;
};

const widthOf = (label: string): number => Math.max(60, label.length * CHAR_WIDTH + 28);

export const round = (value: number): number => Math.round(value * 10) / 10;
