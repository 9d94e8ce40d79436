/** Where a picture of a graph has its nodes and edges: laid out in layers, in whole and tenth pixels. */
import dagre from "@dagrejs/dagre";
import type { Graph } from "../definition/graph.ts";
import { type Figure, figureOf } from "./mermaid.ts";
import { edgeLabel, type ShownNode, shownNodes } from "./shown.ts";

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
  /** Id of the node. */
  readonly id: string;
  readonly type: string;
  /** Its title, or else its id; long ones are cut. */
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
  for (const one of shown) layout.setNode(one.node.id, { width: widthOf(labelOf(one)), height: HEIGHT });
  const edges = graph.edges.filter(({ from, to }) => layout.hasNode(from) && layout.hasNode(to));
  for (const [index, { from, handle, to }] of edges.entries()) {
    const width = edgeLabel(handle).length * CHAR_WIDTH;
    layout.setEdge(from, to, { width, height: width === 0 ? 0 : 14, labelpos: "c" }, String(index));
  }
  dagre.layout(layout);
  const { width = 0, height = 0 } = layout.graph();
  return {
    width: round(width),
    height: round(height),
    nodes: shown.map((one) => drawnNode(one, layout.node(one.node.id))),
    edges: edges.map(({ from, handle, to }, index) => {
      const { points, x, y } = layout.edge(from, to, String(index)) as LaidEdge;
      const label = edgeLabel(handle);
      const labelAt = label === "" || x === undefined || y === undefined ? null : pointOf({ x, y });
      return { from, to, label, points: points.map(pointOf), labelAt };
    }),
  };
}

interface LaidEdge {
  readonly points: readonly DrawnPoint[];
  readonly x?: number;
  readonly y?: number;
}

function drawnNode(
  shown: ShownNode,
  { x, y, width, height }: DrawnPoint & { readonly width: number; readonly height: number },
): DrawnNode {
  const { id, type } = shown.node;
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
