/** Whether a signal answers the approval of a graph's run that waits for it: only a clear answer does. */
import { HoldfastError } from "@holdfast/core";
import { nodeOfStep } from "@holdfast/graph/definition";
import { isRecord } from "@holdfast/protocol";
import { qualify, type Store } from "@holdfast/store";
import { graphRecordOf } from "./graph-record.ts";

export interface AnswerSignal {
  readonly environment: string;
  readonly signal: string;
  readonly dataText: string;
}

/**
 * Approvals go on waiting after an answer that says neither yes nor no. What ends another step is not looked at.
 * @throws HoldfastError `GRAPH_ANSWER_INVALID`
 */
export async function checkAnswer(
  store: Pick<Store, "findWaits" | "getRun" | "graphRuns">,
  { environment, signal, dataText }: AnswerSignal,
): Promise<void> {
  const [wait] = await store.findWaits({ name: qualify(environment, signal), kinds: ["signal"], limit: 1 });
  if (!wait || !(await store.graphRuns([wait.runId])).has(wait.runId)) return;
  const data: unknown = JSON.parse(dataText);
  if (isRecord(data) && typeof data.approved === "boolean") return;
  const detail = await store.getRun(wait.runId);
  const found = detail && nodeOfStep(graphRecordOf(detail), wait.key);
  if (found?.node.type !== "approval") return;
  const what = `The approval "${found.node.id}" of run ${wait.runId} waits for a decision, and goes on waiting`;
  const fix = 'Send `{ "approved": true }` or `{ "approved": false }` as `data`';
  throw new HoldfastError(
    "GRAPH_ANSWER_INVALID",
    `${what}: this answer has no \`approved\` that is true or false. ${fix}.`,
  );
}
