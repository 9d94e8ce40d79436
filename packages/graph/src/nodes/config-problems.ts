/** Configs of the app's own types, checked by their schemas as far as no template is in them. */

import type { GraphProblem } from "../definition/problems.ts";
import { Problems } from "../definition/problems.ts";
import { readGraph } from "../definition/read-graph.ts";
import { own } from "../json/json-size.ts";
import type { NodeType } from "./node-type.ts";

export async function configProblems(graph: unknown, types: ReadonlyMap<string, NodeType>): Promise<GraphProblem[]> {
  const read = readGraph(graph, new Problems(), "stored");
  const found: GraphProblem[] = [];
  for (const { id, type, config, compensate, index } of read?.nodes ?? []) {
    const undo = own(compensate, "config") ?? {};
    const both = [
      { of: type, value: config, at: "config" },
      { of: String(own(compensate, "type")), value: undo, at: "compensate.config" },
    ];
    for (const { of, value, at } of compensate === undefined ? both.slice(0, 1) : both) {
      const schema = types.get(of)?.config["~standard"];
      if (schema === undefined || JSON.stringify(value).includes("{{")) continue;
      const result = await schema.validate(value);
      for (const { message, path = [] } of result.issues ?? []) {
        const field = at + path.map((step) => `.${String(typeof step === "object" ? step.key : step)}`).join("");
        found.push({
          code: "CONFIG_INVALID",
          nodeId: id,
          path: `nodes[${index}].${field}`,
          message: `\`${field}\` of node "${id}" (${of}) is invalid: ${message}`,
          fix: "Correct it as the type's schema says.",
        });
      }
    }
  }
  return found;
}
