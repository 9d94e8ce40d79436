/**
 * Says to the connection thread which steps of a request have been running for a while, when that has changed: it passes
 * this on with the lease, and the run says what it is at. Steps that are quick cost no message.
 */
import type { Clock } from "@holdfast/core";
import type { RunningStepEntry, RunningSteps } from "../../execution/running-steps.ts";
import type { MainMessage } from "../shared/messages.ts";
import type { Ledger } from "./ledger.ts";

/** How long a step runs before anything is said of it, and how often is looked. */
const LONG_MS = 2_000;
const EVERY_MS = 1_000;
/** Of one request. */
const MOST_STEPS = 10;

export interface LongStepsDeps {
  readonly clock: Clock;
  readonly running: Pick<RunningSteps, "begunBefore"> | undefined;
  /** Of the requests of this connection. */
  readonly ledger: Pick<Ledger, "identityOf">;
  readonly send: (message: Extract<MainMessage, { type: "STEPS_RUNNING" }>) => void;
}

export class LongSteps {
  readonly #deps: LongStepsDeps;
  /** What was said last of each request of which there was something to say. */
  readonly #said = new Map<string, readonly RunningStepEntry[]>();
  #nextMs = 0;

  constructor(deps: LongStepsDeps) {
    this.#deps = deps;
  }

  tick(): void {
    const { clock, ledger, running } = this.#deps;
    if (running === undefined) return;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + EVERY_MS;
    const long = running.begunBefore(nowMs - LONG_MS);
    for (const requestId of this.#said.keys()) if (!long.has(requestId)) this.#say(requestId, []);
    for (const [requestId, entries] of long) {
      if (ledger.identityOf(requestId) !== undefined) this.#say(requestId, entries.slice(0, MOST_STEPS));
    }
  }

  /** A new thread has none of what was sent to the one before. */
  onNewThread(): void {
    this.#said.clear();
  }

  #say(requestId: string, entries: readonly RunningStepEntry[]): void {
    const before = this.#said.get(requestId) ?? [];
    if (before.length === entries.length && before.every((one, index) => one === entries[index])) return;
    if (entries.length === 0) this.#said.delete(requestId);
    else this.#said.set(requestId, entries);
    const steps = entries.map(({ stepId, fromMs }) => ({ id: stepId, fromMs }));
    this.#deps.send({ type: "STEPS_RUNNING", requestId, steps });
  }
}
