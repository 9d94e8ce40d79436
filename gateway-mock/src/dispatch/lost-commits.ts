/**
 * What a gateway does once the database had forgotten what it had acknowledged: forgets what it keeps of runs, and saves
 * results of steps whose write could not be sent again as it was (docs/decisions/0103).
 */
import { messageOf } from "@holdfast/core";
import { isEnded, type RunState, stepJobKeys } from "@holdfast/engine";
import { type HistoryLoss, type LogRow, levelFor } from "@holdfast/store";
import type { DispatcherOptions } from "./ports.ts";
import type { Functions } from "./registry/functions.ts";
import type { RunCache } from "./run-cache.ts";
import type { Workers } from "./workers/workers.ts";

export interface LostCommitsParts {
  readonly runs: RunCache;
  readonly functions: Functions;
  readonly workers: Workers;
}

export class LostCommits {
  readonly #options: Pick<DispatcherOptions, "log">;
  readonly #parts: LostCommitsParts;

  constructor(options: Pick<DispatcherOptions, "log">, parts: LostCommitsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Never rejects. */
  async onLoss({ incomplete }: HistoryLoss): Promise<void> {
    this.#parts.runs.forgetAll();
    try {
      await this.#registerAgain();
      for (const { runId, facts } of incomplete) await this.#save(runId, facts);
    } catch (error) {
      this.#options.log(levelFor(error, "warn"), `What was lost could not be restored: ${messageOf(error)}`);
    }
  }

  /** Apps that registered lately may have been forgotten with the rest. */
  async #registerAgain(): Promise<void> {
    const { functions, workers } = this.#parts;
    await functions.touch([...workers.all()].flatMap(({ session }) => session.apps));
    await functions.load();
  }

  #save(runId: string, facts: readonly LogRow[]): Promise<void> {
    const { runs } = this.#parts;
    return runs.serial(runId, async () => {
      const state = await runs.load(runId);
      const log = state ? facts.filter((fact) => isWanted(state, fact)) : [];
      if (state && log.length > 0) await runs.addElsewhere(state, { fence: null, log });
    });
  }
}

/**
 * The result of a body that a pass will ask for. What other decisions hang on (the end of a wait, a job of its own) has
 * to be decided again.
 */
function isWanted(state: RunState, { kind, key }: LogRow): boolean {
  if (kind !== "STEP_COMPLETED" || isEnded(state.status) || state.memo.has(key) || !state.jobs.has("pass"))
    return false;
  return !state.waits.includes(key) && !stepJobKeys(state.jobs, key).some((name) => state.jobs.has(name));
}
