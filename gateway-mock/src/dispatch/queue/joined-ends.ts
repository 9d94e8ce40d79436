/**
 * Ends of steps of one run that come while a decision on it is being stored, and are decided on together: a run that
 * waits for a thousand others would else be written a thousand times, one after the other.
 */
import type { StepEnd } from "@holdfast/engine";
import { type Fence, isRefusedForData } from "@holdfast/store";
import type { RunCache } from "../run-cache.ts";
import type { DecideOutcome } from "./decide-outcome.ts";

export interface AskedEnd {
  readonly end: StepEnd;
  /** Of a timer's claim. */
  readonly fence: Fence | null;
  /** A job of no run that is over when the end is stored. */
  readonly endsJob: string | undefined;
}

interface WaitingEnd extends AskedEnd {
  readonly ended: (outcome: DecideOutcome) => void;
  readonly failed: (error: unknown) => void;
}

/** Ends that are decided on together when the run's turn comes. */
interface Group {
  readonly ends: WaitingEnd[];
  /** Characters of what they hold. */
  length: number;
}

export interface EndDecisions {
  one(runId: string, asked: AskedEnd): Promise<DecideOutcome>;
  /** In order, of all or of the first of them: the others are to be decided on one by one. */
  together(runId: string, asked: readonly AskedEnd[]): Promise<readonly DecideOutcome[]>;
}

const NONE: readonly never[] = [];
/** So that a transaction stays small. */
const AT_ONCE = 256;
const MAX_LENGTH = 262_144;

export class JoinedEnds {
  readonly #runs: Pick<RunCache, "serial">;
  readonly #decisions: EndDecisions;
  /** By run: those whose turn has not come. */
  readonly #waiting = new Map<string, Group>();

  constructor(runs: Pick<RunCache, "serial">, decisions: EndDecisions) {
    this.#runs = runs;
    this.#decisions = decisions;
  }

  /** In its turn, as all decisions on a run. The run must be retained. */
  decide(runId: string, asked: AskedEnd): Promise<DecideOutcome> {
    return new Promise((ended, failed) => {
      const one = { ...asked, ended, failed };
      const length = lengthOf(asked.end);
      const waiting = this.#waiting.get(runId);
      if (waiting && waiting.ends.length < AT_ONCE && waiting.length + length <= MAX_LENGTH) {
        waiting.ends.push(one);
        waiting.length += length;
        return;
      }
      const group: Group = { ends: [one], length };
      this.#waiting.set(runId, group);
      // At once, where no decision on the run is under way.
      void this.#runs.serial(runId, () => {
        if (this.#waiting.get(runId) === group) this.#waiting.delete(runId);
        return this.#decideGroup(runId, group.ends);
      });
    });
  }

  /** Never rejected. */
  async #decideGroup(runId: string, group: readonly WaitingEnd[]): Promise<void> {
    const outcomes = group.length > 1 ? await this.#outcomesOf(runId, group) : NONE;
    if (outcomes === null) return;
    for (const [index, one] of group.entries()) {
      const outcome = outcomes[index];
      if (outcome === undefined) await this.#decisions.one(runId, one).then(one.ended, one.failed);
      else one.ended(outcome);
    }
  }

  /** Null: it failed, and all of them with it. */
  async #outcomesOf(runId: string, group: readonly WaitingEnd[]): Promise<readonly DecideOutcome[] | null> {
    try {
      return await this.#decisions.together(runId, group);
    } catch (error) {
      // One of them cannot be stored; which one shows when they are stored one by one.
      if (isRefusedForData(error)) return NONE;
      for (const { failed } of group) failed(error);
      return null;
    }
  }
}

/** Errors are the app's own, and may be as long as any result. */
function lengthOf(end: StepEnd): number {
  if (end.type === "timer") return 0;
  return end.result.type === "data" ? end.result.text.length : JSON.stringify(end.result.error).length;
}
