/** What the blocks of docs/graphs.md use and do not show. */
import type { Graph } from "@holdfast/graph";

export const graph: Graph = {
  id: "onboarding",
  title: "Welcome a customer",
  nodes: [
    { id: "start", type: "start" },
    { id: "find", type: "dataQuery", config: { query: "customer" }, outputVariable: "customer" },
    { id: "end", type: "end", config: { outputParameters: { name: "{{ctx.customer.name}}" } } },
  ],
  edges: [
    { from: "start", to: "find" },
    { from: "find", to: "end" },
  ],
};

export const queries = {
  execute: async (query: string, _args: object, { signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
    signal.throwIfAborted();
    return { name: `Ann, by ${query}` };
  },
};
