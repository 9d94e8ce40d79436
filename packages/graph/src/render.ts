/** `@holdfast/graph/render`: graphs as pictures, with the state of a run where there is one. */
export {
  type DrawingOptions,
  type DrawnEdge,
  type DrawnNode,
  type DrawnPoint,
  drawGraph,
  type GraphDrawing,
} from "./render/drawing.ts";
export { type Figure, toMermaid } from "./render/mermaid.ts";
export { type ShownNode, type ShownStatus, shownNodes } from "./render/shown.ts";
export { type SvgOptions, toSvg } from "./render/svg.ts";
