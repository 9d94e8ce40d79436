/**
 * What this gateway does when another one announces something (`Store.onWake`). Everything here only makes things
 * happen sooner; none of it is needed for correctness.
 */
import { unreachable } from "@holdfast/core";
import { isEnded } from "@holdfast/engine";
import type { Wake } from "@holdfast/store";

import type { RunCache } from "../run-cache.ts";
import type { RunEnds } from "../run-ends.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import { readResults } from "../workers/give-results.ts";
import { parseRequestId } from "../workers/request-id.ts";
import { stopJobs, stopWork } from "../workers/stop-work.ts";
import type { Workers } from "../workers/workers.ts";
import type { QueueLoop } from "./queue-loop.ts";

export interface WakeParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly dispatches: Dispatches;
  readonly loop: QueueLoop;
  readonly ends: RunEnds;
  /** Reads the functions again. */
  readonly reload: () => void;
}

/** The one place that says what follows here from a wake. */
export function applyWake(wake: Wake, { runs, workers, dispatches, loop, ends, reload }: WakeParts): void {
  switch (wake.type) {
    case "JOBS_DUE":
      return loop.wake();
    case "JOBS_HELD":
      return loop.addHeldFunctions(wake.functionIds);
    case "VERSIONS_CHANGED":
      return loop.reviewFunctions(wake.functionIds);
    case "JOBS_REMOVED":
      stopJobs(dispatches, wake.jobIds);
      return;
    case "JOBS_REDISPATCHED":
      for (const requestId of wake.requestIds) {
        const fence = parseRequestId(requestId);
        if (fence) dispatches.supersede(fence);
      }
      return;
    case "REGISTRY_CHANGED":
      return reload();
    case "RUNS_ENDED":
      for (const runId of wake.runIds) {
        runs.forget(runId);
        void stopEnded(runId, { runs, dispatches });
        ends.onEnded(runId);
      }
      return;
    case "WAITS_ENDED":
      for (const runId of wake.runIds) void readResults(runId, { runs, dispatches });
      return;
    case "RUNS_WATCHED":
      return ends.onWatched(wake.runIds);
    case "ANYTHING":
      reload();
      ends.onMissed();
      loop.addHeldFunctions(workers.functionIds());
      loop.reviewFunctions(workers.functionIds());
      return loop.wake();
    default:
      return unreachable(wake);
  }
}

/**
 * A wake may come late, and the run may have been resumed meanwhile: what it does now is not stopped. Where the store
 * cannot be asked, the next lease extension is refused.
 */
async function stopEnded(runId: string, { runs, dispatches }: Pick<WakeParts, "runs" | "dispatches">): Promise<void> {
  const before = [...dispatches.ofRun(runId)];
  if (before.length === 0) return;
  runs.retain(runId);
  try {
    const state = await runs.load(runId);
    if (state && !isEnded(state.status)) return;
    stopWork(
      dispatches,
      before.filter((one) => dispatches.get(one.requestId) === one),
      "The run has ended.",
    );
  } catch {
    // As said above.
  } finally {
    runs.release(runId);
  }
}
