/** A graph within a graph: its plan, and what it sees, which is its input alone. */
import { HoldfastError } from "@holdfast/core";
import { versionKey } from "../definition/snapshot.ts";
import { own } from "../json/json-size.ts";
import type { PlanNode } from "./plan.ts";
import type { RunContext, ScopeOptions } from "./run-types.ts";
import { noBits } from "./visible.ts";

/** @throws HoldfastError `GRAPH_INVALID`, `GRAPH_INPUT_INVALID` */
export function subgraphOf(
  context: RunContext,
  { node, input }: { readonly node: PlanNode; readonly input: unknown },
): Pick<ScopeOptions, "plan" | "scope" | "bits" | "values"> {
  const { graph: id, version } = node.node.config ?? {};
  const found = own(context.options.graphs, versionKey(String(id), Number(version)));
  if (found === undefined) {
    const message = `The snapshot has no graph "${String(id)}" in version ${String(version)}, which "${node.node.id}" names.`;
    throw new HoldfastError("GRAPH_INVALID", message);
  }
  const graph = found as RunContext["options"]["graph"];
  context.options.checkInput(graph, input);
  const plan = context.planOf(graph);
  const run = { ...context.options.run, graphId: graph.id, version: Number(version) };
  const given = new Map<string, unknown>([
    ["input", input],
    ["run", run],
  ]);
  return { plan, scope: plan.root, bits: noBits(plan.size), values: { own: given, outputs: new Map() } };
}
