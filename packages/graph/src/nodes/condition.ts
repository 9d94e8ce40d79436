/** Which branch of a condition is taken. */
import { HoldfastError } from "@holdfast/core";
import { compileCtxExpression } from "@holdfast/engine";
import type { GraphNode } from "../definition/graph.ts";
import { own } from "../json/json-size.ts";
import { kindOf } from "../json/kind-of.ts";

/**
 * The id of the first branch whose expression is true, or "else". Null, as what is missing is, counts as false.
 * @throws HoldfastError `GRAPH_CONDITION_INVALID`, `EXPRESSION_INVALID`, `EXPRESSION_FAILED`
 */
export function chosenBranch({ id, config }: GraphNode, ctx: Readonly<Record<string, unknown>>): string {
  const branches = own(config, "branches");
  for (const branch of Array.isArray(branches) ? branches : []) {
    const [name, source] = [String(own(branch, "id")), String(own(branch, "if"))];
    const value = compileCtxExpression(source).evaluate(ctx);
    if (value === true) return name;
    if (value === false || value === null) continue;
    const message = `The branch "${name}" of node "${id}" came to ${kindOf(value)}, which is neither true nor false: \`${source.slice(0, 200)}\`. Compare it with something.`;
    throw new HoldfastError("GRAPH_CONDITION_INVALID", message);
  }
  return "else";
}
