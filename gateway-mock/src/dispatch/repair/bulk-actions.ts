/** What a bulk job does to runs: some of them at once, each with an outcome that it is counted by. */
import { HoldfastError, messageOf, unreachable } from "@holdfast/core";
import { type BulkJob, isRefusedForData, type Store } from "@holdfast/store";
import type { RunUpdater } from "../queue/run-updater.ts";
import type { RunCache } from "../run-cache.ts";
import { rerunIdOf, versionOf } from "./bulk-names.ts";
import type { Repairs } from "./repairs.ts";

export type BulkOutcome = { readonly is: "done" | "skipped" } | { readonly is: "failed"; readonly message: string };

export interface BulkActionsParts {
  readonly repairs: Repairs;
  readonly runs: RunCache;
  readonly updater: RunUpdater;
}

export class BulkActions {
  readonly #store: Pick<Store, "getRun" | "loadRuns">;
  readonly #parts: BulkActionsParts;

  constructor(store: Pick<Store, "getRun" | "loadRuns">, parts: BulkActionsParts) {
    this.#store = store;
    this.#parts = parts;
  }

  /**
   * All of them at once. `begun`: runs with which the job had begun before.
   * @throws HoldfastError `STORE_FAILED` where the database is at fault, and not a run
   */
  async applyTo(runIds: readonly string[], bulk: BulkJob, begun: ReadonlySet<string>): Promise<readonly BulkOutcome[]> {
    const outcomes = await this.#outcomesOf(runIds, bulk);
    return Promise.all(
      runIds.map(async (runId, index) => {
        const outcome = outcomes[index] ?? DONE;
        if (outcome.is === "done") return DONE;
        // A write whose answer was lost is tried again, and then finds what it has done itself.
        const mayHave = begun.has(runId) || bulk.action === "cancel" || bulk.action === "resume";
        return mayHave && (await this.wasDone(bulk, runId)) ? DONE : outcome;
      }),
    );
  }

  /** By this job, as far as that can be seen: a run may have been resumed or deleted by others in the same seconds. */
  async wasDone({ id, action, createdMs }: BulkJob, runId: string): Promise<boolean> {
    if (action === "rerun") return (await this.#store.getRun(rerunIdOf(id, runId))) !== null;
    const [run] = await this.#store.loadRuns([runId]);
    if (action === "delete" || !run) return !run && action === "delete";
    return run.log.some(({ kind, atMs, dataJson }) =>
      action === "cancel"
        ? kind === "RUN_CANCELLED" && dataJson.includes(id)
        : kind === "RUN_REVIVED" && atMs >= createdMs,
    );
  }

  #outcomesOf(runIds: readonly string[], bulk: BulkJob): Promise<readonly BulkOutcome[]> {
    const each = (act: (runId: string) => Promise<"done" | "skipped">) =>
      Promise.all(runIds.map((runId) => tried(runId, act)));
    const { repairs } = this.#parts;
    const version = versionOf(bulk);
    switch (bulk.action) {
      case "cancel":
        return each((runId) => this.#cancel(bulk, runId));
      case "rerun":
        return each(async (runId) => {
          // It may have been made before the last gateway that was at it could say so.
          await repairs.rerun(runId, { version, newRunId: rerunIdOf(bulk.id, runId) });
          return "done";
        });
      case "resume":
        return each(async (runId) =>
          (await repairs.resumeEndedBefore(runId, bulk.createdMs, version)) ? "done" : "skipped",
        );
      case "delete":
        return this.#delete(runIds);
      default:
        return unreachable(bulk.action);
    }
  }

  async #delete(runIds: readonly string[]): Promise<readonly BulkOutcome[]> {
    const kept = await this.#parts.repairs.deletions.deleteEnded(runIds);
    return runIds.map((runId, index) => (kept[index] ? outcomeOf(runId, kept[index]) : DONE));
  }

  async #cancel({ id }: BulkJob, runId: string): Promise<"done" | "skipped"> {
    const { runs, updater } = this.#parts;
    runs.retain(runId);
    try {
      const reason = `The run was cancelled with others, by bulk job ${id}.`;
      const outcome = await updater.apply(runId, { type: "cancel", reason }, null);
      return outcome === "won" ? "done" : "skipped";
    } finally {
      runs.release(runId);
    }
  }
}

const DONE: BulkOutcome = { is: "done" };

async function tried(runId: string, act: (runId: string) => Promise<"done" | "skipped">): Promise<BulkOutcome> {
  try {
    return { is: await act(runId) };
  } catch (error) {
    // The database, not the run: the job goes on when it is back.
    if (HoldfastError.is(error) && error.code === "STORE_FAILED" && !isRefusedForData(error)) throw error;
    return outcomeOf(runId, error);
  }
}

function outcomeOf(runId: string, error: unknown): BulkOutcome {
  const code = HoldfastError.is(error) ? error.code : "INTERNAL";
  if (code === "NOT_FOUND" || code === "RUN_SKIPPED") return { is: "skipped" };
  return { is: "failed", message: `${runId}: ${messageOf(error)}` };
}
