/** How many steps each iteration of a loop takes for certain, whatever its items are. */
import { isBuiltIn } from "../definition/node-types.ts";
import type { PlanNode } from "./plan.ts";

const NO_STEPS: ReadonlySet<string> = new Set(["start", "end", "loop", "subgraph"]);
/** Types that go on at `out` whenever they succeed. A type of the app may have other ways. */
const ONE_WAY: ReadonlySet<string> = new Set(["function", "http", "delay", "until", "javascript", "subgraph"]);

const known = new WeakMap<PlanNode, number>();

export function leastSteps(loop: PlanNode): number {
  const count = known.get(loop) ?? countOf(loop);
  known.set(loop, count);
  return count;
}

/** Follows the edges that every iteration takes, or else the loop fails. */
function countOf(loop: PlanNode): number {
  const found = new Set<PlanNode>();
  const open = loop.out.flatMap(({ handle, to }) => (handle === "loop" ? [to] : []));
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (found.has(node)) continue;
    found.add(node);
    const way = wayOf(node);
    for (const { handle, to } of node.out) if (handle === way) open.push(to);
  }
  return [...found].filter(isSurelyStep).length;
}

function wayOf({ node, continues }: PlanNode): string | undefined {
  if (continues) return undefined;
  if (node.type === "loop") return "done";
  return ONE_WAY.has(node.type) ? "out" : undefined;
}

/** A node whose config cannot be filled in fails without a step, and where it then goes on, so does the loop. */
function isSurelyStep({ node, continues }: PlanNode): boolean {
  if (NO_STEPS.has(node.type)) return false;
  if (!continues || node.type === "condition") return true;
  return !isBuiltIn(node.type) && !JSON.stringify(node.config ?? {}).includes("{{");
}
