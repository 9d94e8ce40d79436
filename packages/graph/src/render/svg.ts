/** A graph as an SVG picture; needs no browser. */
import type { Graph } from "../definition/graph.ts";
import { COLOURS, PLAIN } from "./colours.ts";
import { type DrawingOptions, type DrawnEdge, type DrawnNode, layOut, round } from "./drawing.ts";
import { type ShownNode, type ShownStatus, shownNodes } from "./shown.ts";

export type SvgOptions = DrawingOptions;

/** With a status each node has the colour of its state, which its title names as well. */
export function toSvg(graph: Graph, status?: ShownStatus, options: SvgOptions = {}): string {
  const shown = shownNodes(graph, status);
  const { width, height, nodes, edges } = layOut(graph, shown, options);
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" ${size} font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escaped(graph.title)}</title>`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#5b6472"/></marker></defs>',
    ...edges.map(edgeText),
    ...nodes.map((node, index) => nodeText(node, shown[index]?.status)),
    "</svg>",
    "",
  ].join("\n");
}

function edgeText({ points, label, labelAt }: DrawnEdge): string {
  const path = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const line = `<path d="${path}" fill="none" stroke="#5b6472" marker-end="url(#arrow)"/>`;
  if (labelAt === null) return line;
  const at = `x="${labelAt.x}" y="${round(labelAt.y + 4)}" text-anchor="middle"`;
  return `${line}<text ${at} fill="#3c4350" stroke="#fff" stroke-width="4" paint-order="stroke">${escaped(label)}</text>`;
}

function nodeText({ id, type, label, figure, x, y, width, height }: DrawnNode, status: ShownNode["status"]): string {
  const { fill, line } = status === undefined ? PLAIN : COLOURS[status];
  const dashed = status === "skipped" || status === "dead" ? ' stroke-dasharray="4 3"' : "";
  const radius = figure === "round" ? height / 2 : figure === "wait" ? 12 : 4;
  const [left, top] = [x - width / 2, y - height / 2];
  const box =
    figure === "choice"
      ? `<path d="M${round(left + 12)} ${round(top)}H${round(left + width - 12)}L${round(left + width)} ${round(y)} ${round(left + width - 12)} ${round(top + height)}H${round(left + 12)}L${round(left)} ${round(y)}z"`
      : `<rect x="${round(left)}" y="${round(top)}" width="${width}" height="${height}" rx="${radius}"`;
  const state = status === undefined ? "" : `, ${status}`;
  const of = type === "" ? ", no type" : ` (${type})`;
  const title = `<title>${escaped(`${id === "" ? "no id" : id}${of}${state}`)}</title>`;
  const text = `<text x="${x}" y="${round(y + 4)}" text-anchor="middle" fill="#16191f">${escaped(label)}</text>`;
  return `<g data-node="${escaped(id)}">${title}${box} fill="${fill}" stroke="${line}"${dashed}/>${text}</g>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text of users in XML: characters that it does not have are left out. */
function escaped(text: string): string {
  return [...text]
    .filter(
      (char) => char >= " " && char !== "\u007f" && !/[\ud800-\udfff\ufffe\uffff]/.test(char.length === 1 ? char : ""),
    )
    .map((char) => ENTITIES[char] ?? char)
    .join("");
}
