import { type RunState, requestPayload } from "@holdfast/engine";
import { parseJsonBytes } from "@holdfast/protocol";

/** What a worker of the plain protocol is sent. */
export function payloadOf(state: RunState): Record<string, unknown> {
  const options = {
    requestId: "r",
    queueItem: "r~lease",
    jobId: "j",
    attempt: 0,
    stepId: "step",
    functionUuid: null,
    inPlace: false,
    looksAhead: false,
    nowMs: 0,
  };
  return parseJsonBytes(requestPayload(state, options), "payload") as Record<string, unknown>;
}
