/** The graph of a graph's run, each node with its state as it is now. */
import type { shownNodes } from "@holdfast/graph/render";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import {
  type Graph,
  type GraphStatus,
  graphHref,
  graphOfRun,
  inputOfRun,
  type NodeState,
  tenantOfRun,
} from "../data/graphs.ts";
import { type NodeProgress, progressOf, statusIn } from "../data/node-progress.ts";
import { useOfRun } from "../data/run-state.ts";
import type { RunDetail, Step } from "../data/types.ts";
import { waitingNodes } from "../data/waiting-nodes.ts";
import { GraphView, type ShownState } from "../parts/graph-view.tsx";
import { openNode } from "./graph.tsx";
import { RunNodes } from "./node-list.tsx";

export function RunGraph({ run }: { readonly run: RunDetail }): JSX.Element | null {
  const [selected, setSelected] = useState<string | null>(null);
  const status = useOfRun<GraphStatus>(run.id, `/v1/runs/${encodeURIComponent(run.id)}/graph`).value;
  const graph = graphOfRun(run.event);
  const nodes = status?.nodes ?? null;
  const progress = useMemo(
    () => (graph === null ? null : progressOf(graph, nodes ?? [], inputOfRun(run.event))),
    [nodes],
  );
  const states = useStates(graph, nodes, { steps: run.steps, progress });
  if (graph === null || progress === null) return null;
  const { graphId = graph.id, version = null, test = false } = status ?? {};
  return (
    <>
      <section aria-labelledby="graph">
        <div class="page-head">
          <h2 id="graph">Graph</h2>
          {!test && (
            <a
              href={graphHref(
                { id: graphId, tenant: tenantOfRun(run.event) },
                version === null ? undefined : String(version),
              )}
            >
              <bdi>{graphId}</bdi>
              {version !== null && `, version ${version}`}
            </a>
          )}
        </div>
        <div class="card">
          <GraphView graph={graph} states={states} selected={selected} onSelect={openNode(setSelected)} />
        </div>
      </section>
      {status !== null && (
        <section aria-labelledby="nodes">
          <h2 id="nodes">Nodes</h2>
          <RunNodes status={status} progress={progress} steps={run.steps} selected={selected} onSelect={setSelected} />
        </section>
      )}
    </>
  );
}

const NONE: ReadonlyMap<string, ShownState> = new Map();

/** What the picture shows of each node; a part of `@holdfast/graph/render`, which is loaded with the layout. */
function useStates(
  graph: Graph | null,
  nodes: readonly NodeState[] | null,
  { steps, progress }: { readonly steps: readonly Step[]; readonly progress: NodeProgress | null },
): ReadonlyMap<string, ShownState> {
  const [shown, setShown] = useState<{ readonly of: typeof shownNodes } | null>(null);
  useEffect(() => void import("@holdfast/graph/render").then((render) => setShown({ of: render.shownNodes })), []);
  if (graph === null || nodes === null || shown === null || progress === null) return NONE;
  const waiting = waitingNodes(nodes, steps);
  const unfinished = new Set(nodes.flatMap((node) => (statusIn(progress, node) === "unfinished" ? [node.id] : [])));
  const states = shown.of(graph, { nodes }).flatMap(({ node: { id }, status, iterations }) => {
    if (status === undefined) return [];
    const waits = status === "running" && waiting.has(id);
    const own: ShownState = { status: unfinished.has(id) && status !== "failed" ? "unfinished" : status, waits };
    return [[id, iterations === undefined ? own : { ...own, iterations }] as const];
  });
  return withLoops(new Map(states), progress);
}

/** What is in a loop is done when the loop is; both have its progress, where it is a loop of the graph's outermost level. */
function withLoops(states: ReadonlyMap<string, ShownState>, progress: NodeProgress): ReadonlyMap<string, ShownState> {
  const { loops, around } = progress;
  return new Map(
    [...states].map(([id, state]) => {
      const own = loops.get(id);
      if (own !== undefined) return [id, { ...state, iterations: `${own.ended}/${own.total ?? own.begun}` }];
      const [loop = "", ...inner] = around.get(id) ?? [];
      const [of, total] = [states.get(loop), loops.get(loop)?.total];
      if (of === undefined || inner.length > 0 || state.iterations === undefined) return [id, state];
      const goesOn = state.status === "done" && (of.status === "running" || of.status === "unfinished");
      const iterations = state.iterations.replace(/\d+$/, (begun) => String(total ?? begun));
      return [id, { ...state, status: goesOn ? of.status : state.status, iterations }];
    }),
  );
}
