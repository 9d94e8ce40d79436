/** What a step is to give in a fork, as it is stored: of a graph's run people say what its node gives. */
import { HoldfastError } from "@holdfast/core";
import { stepKeyIn } from "@holdfast/engine";
import { type GraphNode, nodeOfStep, recordedOf } from "@holdfast/graph/definition";
import type { RunDetail, Store } from "@holdfast/store";
import { graphRecordOf } from "./graph-record.ts";

/**
 * The text that is stored as the step's result; null: the step is done again.
 * @throws HoldfastError `GRAPH_OUTPUT_INVALID`, and `STEP_UNKNOWN` for a node that is no step
 */
export async function forkResult(
  store: Pick<Store, "graphRuns">,
  detail: RunDetail,
  step: string,
  resultText: string | null,
): Promise<string | null> {
  const { id } = detail.head;
  if (!(await store.graphRuns([id])).has(id)) return resultText;
  const key = stepKeyIn(detail.log, step);
  const record = graphRecordOf(detail);
  if (key === null) {
    const node = record.snapshot.graph.nodes.find((one) => one.id === step);
    if (node !== undefined) throw notForked(id, node);
  }
  // Which steps there are says the fork itself.
  if (key === null || resultText === null) return resultText;
  const found = nodeOfStep(record, key);
  if (found === undefined) {
    const message = `The step "${step}" of run ${id} is of no node, so it has no output that could be given.`;
    throw new HoldfastError("GRAPH_OUTPUT_INVALID", `${message} Go on from it without one, or from a node.`);
  }
  const { graph, node } = found;
  const recorded = recordedOf(graph, node, resultText);
  if (recorded.ok) return recorded.text;
  const what = `The node "${step}" (${node.type}) of run ${id} cannot give ${shown(resultText)}`;
  throw new HoldfastError("GRAPH_OUTPUT_INVALID", `${what}. Give ${recorded.wanted}.`);
}

/** Loops, for one, have no step of their own, and the steps in them are named by their iterations. */
function notForked(runId: string, { id, type }: GraphNode): HoldfastError {
  const inner = type === "loop" ? "charge[0]" : type === "subgraph" ? `${id}/charge` : null;
  const why = inner === null ? "has not begun in it, or is no step" : `is a ${type}, which is no step`;
  const fix = inner === null ? "a node that has begun" : `a node within it, such as "${inner}", or from one before it`;
  return new HoldfastError("STEP_UNKNOWN", `The node "${id}" of run ${runId} ${why}. Go on from ${fix}.`);
}

const SHOWN_CHARS = 200;

const shown = (text: string): string => (text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)} …` : text);
