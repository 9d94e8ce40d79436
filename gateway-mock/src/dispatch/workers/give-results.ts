/**
 * Gives workers what has ended of a run while they are at a pass of it: sleeps, waits, invocations (extension "results",
 * docs/decisions/0154). What does not arrive they are given with the next pass.
 */
import { endedWaits, type RunState, resultsText } from "@holdfast/engine";
import type { RunCache } from "../run-cache.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Dispatches } from "./dispatches.ts";

/** More than this goes with the next pass, whose request may be that large. */
const MAX_RESULTS_CHARS = 256 * 1024;

/** False: the pass of the run, if there is one, is another gateway's. */
export function giveResults(dispatches: Dispatches, run: RunState): boolean {
  const pass = run.jobs.get("pass");
  const [dispatch] = pass === undefined ? [] : dispatches.ofJobs([pass.id]);
  if (dispatch === undefined) return false;
  // One that waits for room has what is known when it is sent.
  if (dispatch.sentMs !== null) send(dispatch, run);
  return true;
}

/** Another gateway has ended waits of the run: what is here of it is older. */
export async function readResults(
  runId: string,
  { runs, dispatches }: { readonly runs: RunCache; readonly dispatches: Dispatches },
): Promise<void> {
  if ([...dispatches.ofRun(runId)].length === 0) return;
  runs.retain(runId);
  try {
    await runs.serial(runId, async () => {
      runs.forget(runId);
      const run = await runs.load(runId);
      if (run) giveResults(dispatches, run);
    });
  } catch {
    // The database is away: the next pass has them.
  } finally {
    runs.release(runId);
  }
}

function send(dispatch: Dispatch, run: RunState): void {
  const { worker, inPlace, requestId, recorded, given: offset } = dispatch;
  if (!inPlace || !worker?.session.extensions.has("results")) return;
  const ended = endedWaits(run, recorded).slice(offset);
  if (ended.length === 0) return;
  const results = resultsText(ended);
  if (results.length > MAX_RESULTS_CHARS) return;
  dispatch.given += ended.length;
  worker.session.send({ kind: "GATEWAY_RESULTS", requestId, results, offset });
}
