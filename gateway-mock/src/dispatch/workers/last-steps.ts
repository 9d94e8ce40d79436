/** Which step a worker said last to be running in a request that was lost: for the message that gives its run up. */
import type { RunState } from "@holdfast/engine";
import type { Dispatch } from "./dispatch.ts";

const RUN = "StepRun ";

/** @param running what its worker said last to be running, where it said so */
export function lossMessage(losses: number, { memo }: Pick<RunState, "memo">, running: string | undefined): string {
  const lost = `The work was lost ${losses} times in a row without any progress`;
  if (running !== undefined) return `${lost}, the last time while step "${running}" was running.`;
  const done = [...memo.values()].at(-1)?.signature;
  return done?.startsWith(RUN) ? `${lost} after step "${done.slice(RUN.length)}".` : `${lost}.`;
}

/** What is forgotten is missing in a message, and nowhere else. */
const MAX_JOBS = 1_000;

export class LastSteps {
  readonly #byJob = new Map<string, string>();

  /** The request was lost. */
  note({ fence: { jobId }, running }: Pick<Dispatch, "fence" | "running">): void {
    const step = running?.steps.at(-1);
    this.#byJob.delete(jobId);
    if (step === undefined) return;
    this.#byJob.set(jobId, step.id);
    const [oldest] = this.#byJob.keys();
    if (this.#byJob.size > MAX_JOBS && oldest !== undefined) this.#byJob.delete(oldest);
  }

  of(jobId: string): string | undefined {
    return this.#byJob.get(jobId);
  }
}
