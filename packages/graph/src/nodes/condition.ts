/** Which branch of a condition is taken. */
import { compileCtxExpression } from "@holdfast/engine";
import type { GraphNode } from "../definition/graph.ts";
import { own } from "../json/json-size.ts";

/**
 * The id of the first branch whose expression is true, or "else".
 * @throws HoldfastError `EXPRESSION_INVALID`, `EXPRESSION_FAILED`
 */
export function chosenBranch({ config }: GraphNode, ctx: Readonly<Record<string, unknown>>): string {
  const branches = own(config, "branches");
  for (const branch of Array.isArray(branches) ? branches : []) {
    if (compileCtxExpression(String(own(branch, "if"))).evaluate(ctx) === true) return String(own(branch, "id"));
  }
  return "else";
}
