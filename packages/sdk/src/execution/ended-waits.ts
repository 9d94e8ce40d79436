/**
 * What the gateway ends of a run while a pass of it goes on: a sleep that is over, an event that came (extension
 * "results"). It is given to the handler in the order of the run, as soon as everything has been that is on record before
 * it; what cannot be given in this pass is given in the next one.
 */
import { isRecord } from "@holdfast/protocol";
import { type Journal, readMemo } from "../steps/journal.ts";
import type { EndedResults, ResultsListener } from "./execution.ts";
import type { PassHost } from "./pass-host.ts";
import type { PassOptions } from "./pass-options.ts";
import type { StepOutcome } from "./step-record.ts";

type EndedWaitsHost = Pick<PassHost, "find" | "isReplayed" | "send">;

export class EndedWaits implements ResultsListener {
  readonly #journal: Journal;
  readonly #host: EndedWaitsHost;
  /** Not given yet, in the order of the run. */
  #outcomes: Map<string, StepOutcome> | null = null;
  #received = 0;

  constructor(journal: Journal, host: EndedWaitsHost) {
    this.#journal = journal;
    this.#host = host;
  }

  onResults({ results, offset }: EndedResults): void {
    // Some were lost on the way: later ones would be given before them.
    if (offset !== this.#received) return;
    const list = listOf(results);
    this.#received += list.length;
    const outcomes = this.#outcomes ?? new Map<string, StepOutcome>();
    this.#outcomes = outcomes;
    for (const entry of list) {
      const [hash, memo] = Array.isArray(entry) ? (entry as readonly unknown[]) : [];
      if (typeof hash !== "string" || !isRecord(memo) || this.#journal.lookup(hash) !== undefined) continue;
      const hit = readMemo(memo);
      if (hit.type === "data") outcomes.set(hash, { type: "memo", value: hit.data });
      else if (hit.type === "error") outcomes.set(hash, { type: "error", error: hit.error });
    }
    this.deliver();
  }

  /** To be called when the handler was given something, or asks for a wait. */
  deliver(): void {
    for (const [hash, outcome] of this.#outcomes ?? []) {
      const record = this.#host.find(hash);
      if (record === undefined || !this.#host.isReplayed) return;
      this.#outcomes?.delete(hash);
      record.outcome = outcome;
      this.#host.send({ type: "ended", hash });
    }
  }
}

/** Nothing, where it is not what gateways send. */
function listOf(results: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(results);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** From now on a handler that waits is given what ends meanwhile; null: this gateway does not say it. */
export function hearEnds(
  { mode, request, port }: Pick<PassOptions, "mode" | "request" | "port">,
  journal: Journal,
  host: EndedWaitsHost,
): EndedWaits | null {
  if (mode.type !== "in-place" || !request.extensions.includes("results")) return null;
  const ended = new EndedWaits(journal, host);
  port.hearResults?.(ended);
  return ended;
}
