/**
 * What this gateway does when another one announces something (`Store.onWake`). Everything here only makes things
 * happen sooner; none of it is needed for correctness.
 */
import { unreachable } from "@holdfast/core";
import type { Wake } from "@holdfast/store";

import type { RunCache } from "../run-cache.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import { parseRequestId } from "../workers/request-id.ts";
import { stopJobs, stopWork } from "../workers/stop-work.ts";
import type { Workers } from "../workers/workers.ts";
import type { QueueLoop } from "./queue-loop.ts";

export interface WakeParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly dispatches: Dispatches;
  readonly loop: QueueLoop;
  /** Reads the functions again. */
  readonly reload: () => void;
}

/** What other gateways have announced. */
export function onWake(wake: Wake, { runs, workers, dispatches, loop, reload }: WakeParts): void {
  switch (wake.type) {
    case "jobs":
      return loop.wake();
    case "held":
      return loop.addHeldFunctions(wake.functionIds);
    case "unplaced":
      return loop.reviewFunctions(wake.functionIds);
    case "removed":
      stopJobs(dispatches, wake.jobIds);
      return;
    case "given":
      for (const requestId of wake.requestIds) {
        const fence = parseRequestId(requestId);
        if (fence) dispatches.supersede(fence);
      }
      return;
    case "functions":
      return reload();
    case "ended":
      for (const runId of wake.runIds) {
        runs.forget(runId);
        stopWork(dispatches, dispatches.ofRun(runId), "The run has ended.");
      }
      return;
    case "all":
      reload();
      loop.addHeldFunctions(workers.functionIds());
      loop.reviewFunctions(workers.functionIds());
      return loop.wake();
    default:
      return unreachable(wake);
  }
}
