/** `validateGraph`: everything that is wrong with a graph, before it is stored and again before it runs. Pure. */

import { checkCode } from "./code-checks.ts";
import { checkConfig } from "./config-checks.ts";
import { checkInputSchema } from "./input-checks.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import { checkNodes } from "./node-checks.ts";
import type { NodeTypeInfo } from "./node-types.ts";
import { type GraphProblem, Problems } from "./problems.ts";
import { checkReads } from "./read-checks.ts";
import { type ReadGraph, readGraph } from "./read-graph.ts";
import { checkStructure } from "./structure-checks.ts";
import { checkTrigger } from "./trigger-checks.ts";

export interface ValidateOptions {
  /**
   * Types of the app, beside the built-in ones; "any" = every name is one, for who does not have the list. Default: none.
   */
  readonly nodeTypes?: readonly NodeTypeInfo[] | "any";
}

/**
 * All problems of a graph, in the order of its nodes and edges; none = it can be stored and run. `graph` may be anything,
 * as it came from outside. The work is linear in its size. Only the gateway knows which graphs `subgraph` nodes can name
 * (`SUBGRAPH_UNKNOWN`, `SUBGRAPH_RECURSION`), and only the app checks configs of its own types by their schemas.
 */
export function validateGraph(graph: unknown, options: ValidateOptions = {}): GraphProblem[] {
  return problemsOf(graph, options, "stored");
}

/**
 * "run": it was validated when it was stored, perhaps by an earlier release. So code and triggers are not looked at again:
 * code that cannot be read fails at its node, and a run has begun whatever triggers others.
 */
export function problemsOf(graph: unknown, options: ValidateOptions, what: "stored" | "run"): GraphProblem[] {
  const problems = new Problems();
  const read = readGraph(graph, problems, what);
  if (read === undefined) return problems.list();
  const types = options.nodeTypes ?? [];
  checkNodes(read, types, problems);
  if (hasTooManyExpressions(read, problems)) return problems.list();
  for (const node of read.nodes) checkConfig(node, problems, what);
  const layout = checkStructure(read, types, problems);
  checkReads(read, layout, problems);
  checkInputSchema(read.input, problems);
  if (what === "stored") {
    checkCode(read, problems);
    checkTrigger(read.trigger, problems);
  }
  return problems.list();
}

/** Compiling them is what takes longest, so they are counted before. */
function hasTooManyExpressions({ nodes }: ReadGraph, problems: Problems): boolean {
  const counts = nodes.map(({ type, config }) =>
    type === "condition" && Array.isArray(config.branches) ? config.branches.length : 0,
  );
  const count = counts.reduce((sum, each) => sum + each, 0);
  if (count <= GRAPH_LIMITS.maxExpressions) return false;
  const message = `The conditions of the graph have ${count} branches; the limit is ${GRAPH_LIMITS.maxExpressions}.`;
  problems.add({ code: "TOO_LARGE", message, fix: "Move a part of it into a graph of its own (`subgraph`)." });
  return true;
}
