/** Tells workers to stop requests that no one needs any more: their run has ended, or a decision removed their job. */
import type { Dispatch } from "./dispatch.ts";
import type { Dispatches } from "./dispatches.ts";

/** Tells workers here to stop what is no longer needed; elsewhere their next lease extension is refused. */
export function stopWork(dispatches: Dispatches, unwanted: Iterable<Dispatch>, reason: string): void {
  for (const dispatch of [...unwanted]) {
    const { worker, requestId, sentMs } = dispatch;
    if (worker && sentMs === null) {
      // It waits for room: no worker has it.
      dispatches.finish(dispatch);
      continue;
    }
    if (!worker?.session.extensions.has("cancel")) continue;
    worker.session.send({ kind: "GATEWAY_CANCEL", requestId, reason });
    dispatches.finish(dispatch);
  }
}

/** Stops work that a decision has removed. False when a worker elsewhere may have some of it. */
export function stopJobs(dispatches: Dispatches, jobIds: readonly string[]): boolean {
  const here = dispatches.ofJobs(jobIds);
  stopWork(dispatches, here, "The run no longer needs this step.");
  return here.length === jobIds.length;
}
