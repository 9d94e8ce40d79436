/** Draws a graph; of a run, each node with its state, which a mark says besides the colour. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Drawing, useDrawing } from "../data/drawing.ts";
import { countOf } from "../data/format.ts";
import { type Graph, NODE_STATUS, NODE_WORDS, type ShownStatus } from "../data/graphs.ts";
import { useNarrow } from "../data/narrow.ts";
import { StatusShape } from "./status.tsx";

export interface GraphViewProps {
  readonly graph: Graph;
  /** Of a run, by node: of several iterations the one that tells most. */
  readonly states?: ReadonlyMap<string, ShownState>;
  /** Of a draft: which nodes have problems, by where they stand in it. */
  readonly wrong?: ReadonlySet<number>;
  readonly selected: string | null;
  readonly onSelect: (nodeId: string) => void;
}

export interface ShownState {
  readonly status: ShownStatus;
  /** It runs, but only waits: for a time, an event or an answer. */
  readonly waits: boolean;
  /** `2/5`: how many iterations have ended, of those there are to be or, where that is not known, that have begun. */
  readonly iterations?: string;
}

/** It is made smaller where it is wider than the page, as long as it can be read. */
const LEAST = 0.66;

type DrawnNode = Drawing["nodes"][number];

export function GraphView({ graph, states, wrong, selected, onSelect }: GraphViewProps): JSX.Element {
  const isNarrow = useNarrow();
  const drawing = useDrawing(graph, isNarrow ? "down" : "right");
  const edges = useMemo(() => drawing && <Edges drawing={drawing} />, [drawing]);
  const size = `${countOf(graph.nodes.length, "node")}, ${countOf(graph.edges.length, "edge")}`;
  return (
    <div class="drawing graph" tabIndex={0} role="group" aria-label="Drawing of the graph">
      {drawing === null ? (
        <p class="lead padded">Laying out {size} …</p>
      ) : (
        <svg
          style={{ width: `min(100%, ${drawing.width}px)`, minWidth: `${LEAST * drawing.width}px` }}
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          role="img"
          aria-label={`${size}; the list below has them`}
        >
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 .5 7.5 4 0 7.5z" />
            </marker>
          </defs>
          {edges}
          {drawing.nodes.map((node, index) => (
            <Node
              // Drafts may have two nodes of one id, or of none.
              key={index.toString()}
              node={node}
              state={states?.get(node.id)}
              isOfRun={states !== undefined}
              isWrong={wrong?.has(index) ?? false}
              isSelected={node.id === selected}
              onSelect={onSelect}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

function Edges({ drawing }: { readonly drawing: Drawing }): JSX.Element {
  return (
    <g class="edges">
      {drawing.edges.map(({ from, to, label, points, labelAt }, index) => (
        <g key={`${from} ${to} ${index.toString()}`}>
          <path d={curve(points)} marker-end="url(#arrow)" />
          {labelAt !== null && (
            <text x={labelAt.x} y={labelAt.y + 4} text-anchor="middle">
              {label}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

/** Through the middles between the points, rounded at each. */
function curve(points: Drawing["edges"][number]["points"]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const last = rest.at(-1) ?? first;
  const parts = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    const isLast = index === rest.length - 2;
    const to = isLast ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${point.x} ${point.y} ${to.x} ${to.y}`;
  });
  return `M${first.x} ${first.y}${parts.length === 0 ? `L${last.x} ${last.y}` : parts.join("")}`;
}

interface NodeProps {
  readonly node: DrawnNode;
  readonly state: ShownState | undefined;
  readonly isOfRun: boolean;
  readonly isWrong: boolean;
  readonly isSelected: boolean;
  readonly onSelect: (nodeId: string) => void;
}

function Node({ node, state, isOfRun, isWrong, isSelected, onSelect }: NodeProps): JSX.Element {
  const { id, type, label, x, y, width, height } = node;
  const status = state?.status ?? (isOfRun ? "waiting" : undefined);
  const left = x - width / 2;
  const top = y - height / 2;
  const words = isWrong
    ? ", has problems"
    : status === undefined
      ? ""
      : `, ${state?.waits ? "waiting" : NODE_WORDS[status]}`;
  const shown = isWrong ? "FAILED" : state?.waits ? "WAITING" : status && NODE_STATUS[status];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the picture is described as a whole, the list has the nodes
    <g
      class={`node${isSelected ? " selected" : ""}`}
      data-node={id}
      data-state={isWrong ? "wrong" : status}
      data-status={shown}
      onClick={() => onSelect(id)}
    >
      <title>{`${id} (${type})${words}${state?.iterations ? ` ${state.iterations}` : ""}`}</title>
      <Outline node={node} left={left} top={top} />
      <text x={x} y={y + 4.5} text-anchor="middle">
        {label}
      </text>
      {shown !== undefined && (
        <g transform={`translate(${left + 2} ${top - 1})`}>
          <circle class="badge-ground" r="9" />
          <g transform="translate(-6 -6) scale(0.75)" class="badge-mark">
            <StatusShape status={shown} />
          </g>
        </g>
      )}
      {state?.iterations !== undefined && (
        <text class="iterations" x={left + width} y={top - 5} text-anchor="end">
          {state.iterations}
        </text>
      )}
    </g>
  );
}

function Outline({ node, left, top }: { readonly node: DrawnNode; readonly left: number; readonly top: number }) {
  const { figure, width, height } = node;
  if (figure === "choice") {
    const [right, bottom, middle] = [left + width, top + height, top + height / 2];
    const points = `${left + 12},${top} ${right - 12},${top} ${right},${middle} ${right - 12},${bottom} ${left + 12},${bottom} ${left},${middle}`;
    return <polygon points={points} stroke-linejoin="round" />;
  }
  const radius = figure === "round" ? height / 2 : figure === "wait" ? 14 : 6;
  return (
    <>
      <rect x={left} y={top} width={width} height={height} rx={radius} />
      {figure === "loop" && (
        <path d={`M${left + 7} ${top + 6}v${height - 12}M${left + width - 7} ${top + 6}v${height - 12}`} />
      )}
    </>
  );
}
