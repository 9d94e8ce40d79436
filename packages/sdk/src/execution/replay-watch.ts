/**
 * Tells whether the handler's code does what an earlier pass has done already: its log lines are left out then.
 * `Pass` reports what the handler asks for and is given; `run-logger.ts` asks.
 */
import type { PassReply } from "../steps/pass-types.ts";
import { type GivenResults, givenResults } from "./given-results.ts";
import type { PassOptions } from "./pass-options.ts";
import type { StepRecord } from "./step-record.ts";

export interface ReplayWatchDeps {
  readonly runId: string;
  /** How many steps the run has on record: finished, tried, or planned. Some pass has asked for each of them. */
  readonly recorded: number;
  /** The handler is called only to reach one step, or to find what can be undone: an earlier pass has done all of it. */
  readonly isRepeat: boolean;
  readonly given?: GivenResults;
}

/**
 * The handler's code between two of its steps follows from what it was given last. It is a replay
 *
 * REPLAY-1. until the handler has asked for every step on record: some pass did, so it was here before;
 * REPLAY-2. where it follows from a result that this process has given it in an earlier pass;
 * REPLAY-3. always, where the handler is called only to reach a step or to find compensations;
 * REPLAY-4. but not where it asks for a step that is not on record, or is given a result that is not.
 *
 * No line is lost by that: a step is on record only if a pass has asked for it, and what that pass did before it was
 * logged. Lines may come twice where no process knows what was given: in parallel branches of a run that another process
 * has taken over.
 */
export class ReplayWatch {
  readonly #deps: ReplayWatchDeps;
  readonly #given: GivenResults;
  #unasked: number;
  #isRepeated: boolean;
  #isUsed = false;

  constructor(deps: ReplayWatchDeps) {
    this.#deps = deps;
    this.#given = deps.given ?? givenResults;
    this.#unasked = deps.recorded;
    this.#isRepeated = deps.recorded > 0;
  }

  get isReplaying(): boolean {
    this.#isUsed = true;
    return this.#deps.isRepeat || this.#isRepeated;
  }

  /** The handler asks for a step. */
  onFound(isRecorded: boolean): void {
    if (isRecorded) this.#unasked -= 1;
    else this.#isRepeated = false;
  }

  /** The handler is about to be given what a step came to. */
  onSettling({ identity, outcome, isRecorded }: StepRecord): void {
    if (outcome === undefined) return;
    this.#isRepeated = isRecorded && (this.#unasked > 0 || this.#given.has(this.#deps.runId, identity.hash));
  }

  /** An attempt of the handler that failed is not a pass that the next one repeats: that one logs again. */
  onReply(reply: PassReply, records: Iterable<StepRecord>): void {
    const { runId, isRepeat } = this.#deps;
    if (reply.type === "end") return this.#given.forget(runId);
    if (reply.type !== "ops" || isRepeat || !this.#isUsed) return;
    const settled = [...records].filter(({ progress }) => progress !== "open");
    this.#given.set(runId, new Set(settled.map(({ identity }) => identity.hash)));
  }
}

/** `retries`: steps that were tried and have no result yet. `isUndoing`: the handler is called to find compensations. */
export function watchReplay(
  { request, input, mode }: PassOptions,
  retries: Readonly<Record<string, unknown>>,
  isUndoing: boolean,
): ReplayWatch {
  const tried = Object.keys(retries).filter((hash) => !(hash in input.steps));
  return new ReplayWatch({
    runId: request.runId,
    recorded: Object.keys(input.steps).length + tried.length,
    isRepeat: mode.type === "targeted" || isUndoing,
  });
}
