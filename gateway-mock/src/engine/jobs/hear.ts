import { unreachable } from "@holdfast/core";
import type { Wake } from "../../store/index.ts";
import type { Agents } from "../agents/agents.ts";
import type { Dispatches } from "../agents/dispatches.ts";
import { parseRequestId } from "../agents/request-id.ts";
import { stopJobs, stopWork } from "../agents/stop-work.ts";
import type { RunCache } from "../run-cache.ts";
import type { QueueLoop } from "./queue-loop.ts";

export interface HearParts {
  readonly runs: RunCache;
  readonly agents: Agents;
  readonly dispatches: Dispatches;
  readonly loop: QueueLoop;
  /** Reads the functions again. */
  readonly reload: () => void;
}

/** What other gateways told. */
export function hear(wake: Wake, { runs, agents, dispatches, loop, reload }: HearParts): void {
  switch (wake.type) {
    case "jobs":
      return loop.wake();
    case "held":
      return loop.noteHeld(wake.functionIds);
    case "unplaced":
      return loop.review(wake.functionIds);
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
      loop.noteHeld(agents.functionIds());
      loop.review(agents.functionIds());
      return loop.wake();
    default:
      return unreachable(wake);
  }
}
