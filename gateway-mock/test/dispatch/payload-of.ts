import type { RunState } from "@holdfast/engine";
import { parseJsonBytes } from "@holdfast/protocol";

import { requestPayload } from "../../src/dispatch/workers/payload.ts";

/** What a worker of the plain protocol is sent. */
export function payloadOf(state: RunState): Record<string, unknown> {
  const options = {
    requestId: "r",
    leaseId: "lease",
    jobId: "j",
    attempt: 0,
    stepId: "step",
    functionUuid: null,
    inPlace: false,
    nowMs: 0,
  };
  return parseJsonBytes(requestPayload(state, options), "payload") as Record<string, unknown>;
}
