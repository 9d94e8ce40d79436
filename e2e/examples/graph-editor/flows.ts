/** Which nodes customers may draw, and the app that runs what they have drawn. */
import { graphs, nodeType } from "@holdfast/graph";
import { Holdfast } from "holdfast";
import * as v from "valibot";

/** What a node can ask the product for: queries with a name, never SQL from a drawing. */
const queries: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  "customer by id": async (id) => ({ id, name: `Customer ${id}`, seats: 25 }),
};

const lookUp = nodeType({
  type: "lookUp",
  summary: "Asks the product for something by its id.",
  config: v.object({ query: v.picklist(Object.keys(queries)), id: v.string() }),
  run: ({ config }) => queries[config.query]?.(config.id),
});

export const app = new Holdfast({ id: "product" });
export const flows = graphs(app, { nodeTypes: [lookUp] });
