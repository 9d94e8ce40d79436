/** The graph of a graph's run, each node with its state as it is now. */
import type { shownNodes } from "@holdfast/graph/render";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Graph, type GraphStatus, graphHref, graphOfRun, type NodeState, tenantOfRun } from "../data/graphs.ts";
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
  const states = useStates(graph, status?.nodes ?? null, run.steps);
  if (graph === null) return null;
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
          <RunNodes status={status} steps={run.steps} selected={selected} onSelect={setSelected} />
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
  steps: readonly Step[],
): ReadonlyMap<string, ShownState> {
  const [shown, setShown] = useState<{ readonly of: typeof shownNodes } | null>(null);
  useEffect(() => void import("@holdfast/graph/render").then((render) => setShown({ of: render.shownNodes })), []);
  if (graph === null || nodes === null || shown === null) return NONE;
  const waiting = waitingNodes(nodes, steps);
  return new Map(
    shown.of(graph, { nodes }).flatMap(({ node, status, iterations }) => {
      if (status === undefined) return [];
      const waits = status === "running" && waiting.has(node.id);
      return [[node.id, { status, waits, ...(iterations === undefined ? {} : { iterations }) }] as const];
    }),
  );
}
