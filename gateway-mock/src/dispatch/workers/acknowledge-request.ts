/** What follows when a worker has acknowledged a request. */
import type { WorkerFrame } from "@holdfast/protocol";
import type { RunCache } from "../run-cache.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatches } from "./dispatches.ts";
import { giveResults } from "./give-results.ts";
import type { Ownership } from "./ownership.ts";

interface Parts {
  readonly dispatches: Dispatches;
  readonly ownership: Ownership;
  readonly runs: RunCache;
}

export function acknowledgeRequest(
  worker: ConnectedWorker,
  frame: Extract<WorkerFrame, { kind: "WORKER_REQUEST_ACK" }>,
  { dispatches, ownership, runs }: Parts,
): void {
  const dispatch = dispatches.get(frame.requestId);
  if (dispatch === undefined) return;
  if (!worker.appIds.has(dispatch.appId)) return ownership.recordRefusal(worker, "An acknowledgement", frame);
  dispatches.acknowledge(dispatch, worker);
  // Waits may have ended while it was on its way.
  const run = runs.peek(dispatch.runId);
  if (run && run.memo.size > dispatch.recorded) giveResults(dispatches, run);
}
