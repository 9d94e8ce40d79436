/** A graph as a Mermaid flowchart, which many places that show Markdown draw. */
import { unreachable } from "@holdfast/core";
import type { Graph } from "../definition/graph.ts";
import type { NodeStatusKind } from "../status/graph-status.ts";
import { COLOURS } from "./colours.ts";
import { edgeLabel, type ShownNode, type ShownStatus, shownEdges, shownNodes } from "./shown.ts";

/** With a status each node has the colour of its state. */
export function toMermaid(graph: Graph, status?: ShownStatus): string {
  const nodes = shownNodes(graph, status);
  const used = [...new Set(nodes.flatMap((node) => node.status ?? []))];
  return [
    "flowchart TD",
    ...nodes.map((shown, index) => `  n${index}${shape(shown)}${classOf(shown.status)}`),
    ...shownEdges(graph).map(({ edge, from, to }) => {
      const label = edgeLabel(edge.handle);
      return `  n${from} -->${label === "" ? "" : `|${quoted(label)}|`} n${to}`;
    }),
    ...used.map((kind) => `  classDef ${kind} fill:${COLOURS[kind].fill},stroke:${COLOURS[kind].line},color:#111`),
    "",
  ].join("\n");
}

const classOf = (status: NodeStatusKind | undefined): string => (status === undefined ? "" : `:::${status}`);

function shape({ node, label, iterations }: ShownNode): string {
  const text = quoted(iterations === undefined ? label : `${label} ${iterations}`);
  switch (figureOf(node.type)) {
    case "round":
      return `([${text}])`;
    case "choice":
      return `{{${text}}}`;
    case "wait":
      return `(${text})`;
    case "loop":
      return `[[${text}]]`;
    case "box":
      return `[${text}]`;
    default:
      return unreachable(figureOf(node.type) as never);
  }
}

/** How a node is drawn: `choice` with pointed ends, `wait` rounded, `loop` with double sides. */
export type Figure = "round" | "choice" | "wait" | "loop" | "box";

/** How a node is drawn, by its type. */
export function figureOf(type: string): Figure {
  if (type === "start" || type === "end") return "round";
  if (type === "condition" || type === "approval") return "choice";
  if (type === "delay" || type === "until" || type === "waitForEvent") return "wait";
  return type === "loop" || type === "subgraph" ? "loop" : "box";
}

/** Text that cannot be taken for anything else: entities stand for what has a meaning in Mermaid. */
function quoted(text: string): string {
  const safe = text.replaceAll(/[^\p{L}\p{N} _./,()+=*-]/gu, (char) => `#${char.codePointAt(0)};`);
  return `"${safe}"`;
}
