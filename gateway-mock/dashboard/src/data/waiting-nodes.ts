/** Which nodes of a graph's run only wait: for a time, an event or an answer. Pure. */
import type { NodeState } from "./graphs.ts";
import type { Step } from "./types.ts";

const WAITS: ReadonlySet<string> = new Set(["Sleep", "WaitForEvent", "WaitForSignal"]);

export const isWaiting = ({ status }: Pick<NodeState, "status">, step: Step | undefined): boolean =>
  status === "running" && step?.status === "waiting" && WAITS.has(step.op);

/** Ids of nodes that run, but only wait, in each of their iterations that runs. */
export function waitingNodes(
  nodes: readonly Pick<NodeState, "id" | "status" | "stepId">[],
  steps: readonly Step[],
): ReadonlySet<string> {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const running = nodes.filter(({ status }) => status === "running");
  const busy = new Set(running.filter((node) => !isWaiting(node, byId.get(node.stepId ?? ""))).map(({ id }) => id));
  return new Set(running.flatMap(({ id }) => (busy.has(id) ? [] : [id])));
}
