/** Deletes runs for people and for the gateway itself: one, cancelled before if need be, or many that have ended. */
import { HoldfastError, sleep, unreachable } from "@holdfast/core";
import type { DeleteOutcome } from "@holdfast/store";
import type { DispatcherOptions } from "../ports.ts";
import type { RunUpdater } from "../queue/run-updater.ts";
import type { RunCache } from "../run-cache.ts";

export interface DeletionsParts {
  readonly runs: RunCache;
  readonly updater: RunUpdater;
}

/** How often a run may turn out to be in use, or not to have ended. */
const TRIES = 16;
/** Between two looks whether a parent has been notified. */
const NEEDED_REST_MS = 100;

export class Deletions {
  readonly #options: DispatcherOptions;
  readonly #parts: DeletionsParts;

  constructor(options: DispatcherOptions, parts: DeletionsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Deletes a run that has ended, with its log and what belongs to nothing else. With `cancels` it is cancelled before
   * if it has not ended.
   * @throws HoldfastError `NOT_FOUND`, `RUN_NOT_ENDED`, `RUN_ON_HOLD`, `RUN_IN_USE`, `STORE_FAILED`
   */
  async delete(runId: string, { cancels }: { readonly cancels: boolean }): Promise<void> {
    const { timers } = this.#options;
    const { runs, updater } = this.#parts;
    runs.retain(runId);
    try {
      for (let tries = 0; tries < TRIES; tries += 1) {
        if (tries > 0) await sleep(timers, NEEDED_REST_MS);
        if (cancels)
          await updater.apply(runId, { type: "cancel", reason: "The run was cancelled to be deleted." }, null);
        const [outcome = "gone"] = await this.#deleteNow([runId]);
        if (outcome === "deleted") return;
        if (outcome !== "needed") throw notDeleted(runId, outcome);
      }
    } finally {
      runs.release(runId);
    }
    throw notDeleted(runId, "needed");
  }

  /**
   * Deletes runs that have ended, in one transaction. What became of each, in order: null where it was deleted, else why
   * it was not, as `delete` says it.
   * @throws HoldfastError `STORE_FAILED`
   */
  async deleteEnded(runIds: readonly string[]): Promise<readonly (HoldfastError | null)[]> {
    const { runs } = this.#parts;
    for (const runId of runIds) runs.retain(runId);
    try {
      const outcomes = await this.#deleteNow(runIds);
      return await Promise.all(runIds.map((runId, index) => this.#endOf(runId, outcomes[index] ?? "gone")));
    } finally {
      for (const runId of runIds) runs.release(runId);
    }
  }

  async #endOf(runId: string, outcome: DeleteOutcome): Promise<HoldfastError | null> {
    if (outcome === "deleted") return null;
    if (outcome !== "needed") return notDeleted(runId, outcome);
    try {
      await this.delete(runId, { cancels: false });
      return null;
    } catch (error) {
      if (HoldfastError.is(error) && error.code !== "STORE_FAILED") return error;
      throw error;
    }
  }

  async #deleteNow(runIds: readonly string[]): Promise<readonly DeleteOutcome[]> {
    const outcomes = await this.#options.store.deleteRuns(runIds);
    // An ended run in memory would still be shown to those who ask for its state.
    for (const runId of runIds) this.#parts.runs.forget(runId);
    return outcomes;
  }
}

function notDeleted(runId: string, outcome: Exclude<DeleteOutcome, "deleted">): HoldfastError {
  switch (outcome) {
    case "gone":
      return new HoldfastError("NOT_FOUND", `There is no run ${runId}.`);
    case "living":
      return new HoldfastError(
        "RUN_NOT_ENDED",
        `Run ${runId} has not ended: cancel it first, or delete it with \`?cancel=1\` (\`--cancel\`).`,
      );
    case "held":
      return new HoldfastError("RUN_ON_HOLD", `Run ${runId} is on hold: release it first.`);
    case "needed": {
      const what = `Run ${runId} is still in use: the run that invoked it has not been notified of its end`;
      return new HoldfastError("RUN_IN_USE", `${what}. Try again in a moment.`);
    }
    default:
      return unreachable(outcome);
  }
}
