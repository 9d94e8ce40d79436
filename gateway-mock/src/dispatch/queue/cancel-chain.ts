/** Cancels a run, or where it has gone on as another one (`continueAs`), the last one of that chain. */
import { continuedAs } from "@holdfast/engine";
import type { Store } from "@holdfast/store";
import type { RunCache } from "../run-cache.ts";
import type { DecideOutcome } from "./decide-outcome.ts";
import type { RunUpdater } from "./run-updater.ts";

export interface CancelChainParts {
  readonly store: Pick<Store, "loadRuns">;
  readonly runs: RunCache;
  readonly updater: RunUpdater;
}

/** `nothing`: it had ended, and so had what it went on as. */
export async function cancelChain(
  { store, runs, updater }: CancelChainParts,
  firstId: string,
  reason: string,
): Promise<DecideOutcome> {
  for (let runId = firstId; ; ) {
    runs.retain(runId);
    try {
      const outcome = await updater.apply(runId, { type: "cancel", reason }, null);
      if (outcome !== "nothing") return outcome;
    } finally {
      runs.release(runId);
    }
    const [run] = await store.loadRuns([runId]);
    // It may go on once more meanwhile.
    const next = run && continuedAs(run.log);
    if (!next) return "nothing";
    runId = next;
  }
}
