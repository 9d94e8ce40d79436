/** What the blocks of packages/graph/README.md use and do not show. */
import { type Graph, nodeType } from "@holdfast/graph";
import { Holdfast, staticSchema } from "holdfast";

export const app = new Holdfast({ id: "flows" });
export const dataQuery = nodeType({ type: "dataQuery", config: staticSchema<object>(), run: () => ({ name: "Ann" }) });
export const graph: Graph = {
  id: "onboarding",
  title: "Welcome a customer",
  nodes: [
    { id: "start", type: "start" },
    { id: "find", type: "dataQuery" },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "find" },
    { from: "find", to: "end" },
  ],
};
