/** The handler of the runner: reads the snapshot, and does what the pure run says with the step tools. */
import { HoldfastError, messageOf, unreachable } from "@holdfast/core";
import { checkGraphInput } from "../definition/check-input.ts";
import { GraphRun } from "../interpret/graph-run.ts";
import { nodeErrorOf } from "../interpret/outcome.ts";
import type { NodeCall, RunAction } from "../interpret/run-types.ts";
import { callStep, type NodeDeps } from "../nodes/call-steps.ts";
import type { PreparedSnapshots } from "./prepared-snapshots.ts";

export interface RunDeps extends NodeDeps {
  readonly prepared: PreparedSnapshots;
  /** Runs whose input was checked in this process. */
  readonly checked: Set<string>;
}

/**
 * Runs the graph of a snapshot to its end and gives what its `end` nodes collect.
 * @throws HoldfastError `GRAPH_INVALID`, `GRAPH_INPUT_INVALID`, `GRAPH_NODE_FAILED`
 */
export async function runSnapshot(data: unknown, deps: RunDeps): Promise<unknown> {
  const { graph, graphs, plans, graphId, version, input, test } = checkedSnapshot(data, deps);
  const run = new GraphRun({
    graph,
    graphs,
    plans,
    input,
    run: { id: deps.runId, graphId, version, test },
    checkInput: checkGraphInput,
  });
  return new Promise((resolve, reject) => {
    const perform = (actions: readonly RunAction[]): void => {
      for (const action of actions) {
        switch (action.type) {
          case "CALL":
            callStep(action.call, deps).then(
              (given) => perform(run.complete(action.call.key, given)),
              (thrown: unknown) => {
                if (isOfNode(thrown)) perform(run.fail(action.call.key, errorOf(action.call, thrown), thrown));
                else reject(thrown);
              },
            );
            break;
          case "ENDED":
            resolve(action.output);
            break;
          case "FAILED":
            reject(failureOf(action));
            break;
          default:
            unreachable(action);
        }
      }
    };
    try {
      perform(run.begin());
    } catch (error) {
      reject(error);
    }
  });
}

/** The event of a run does not change: input that was checked when this process first saw it holds when it is replayed. */
function checkedSnapshot(data: unknown, { types, runId, checked, prepared }: RunDeps) {
  const snapshot = prepared.read(data, { nodeTypes: [...types.values()] });
  if (checked.has(runId)) return snapshot;
  checkGraphInput(snapshot.graph, snapshot.input);
  if (checked.size >= MAX_CHECKED) checked.clear();
  checked.add(runId);
  return snapshot;
}

const MAX_CHECKED = 10_000;

const errorOf = ({ node }: NodeCall, thrown: unknown) => nodeErrorOf(node.id, thrown);

/** What is no failure of a node ends the run, whatever its handles: the sequence of steps has changed, say. */
function isOfNode(thrown: unknown): boolean {
  return !(thrown instanceof Error && thrown.name === "NonDeterminismError");
}

function failureOf({ error, thrown }: Extract<RunAction, { type: "FAILED" }>): HoldfastError {
  const message = `Node "${error.nodeId}" failed: ${error.message || messageOf(thrown)}`;
  return new HoldfastError("GRAPH_NODE_FAILED", message, { cause: thrown ?? error });
}
