import { messageOf } from "@holdfast/core";
import { type ClaimedJob, levelFor } from "../../store/index.ts";
import type { Agents, Slot } from "../agents/agents.ts";
import type { Dispatches } from "../agents/dispatches.ts";
import type { EngineOptions } from "../ports.ts";
import type { RunState } from "../run/run-state.ts";
import type { Runs } from "../runs.ts";
import type { Decider } from "./decider.ts";
import { Versions } from "./versions.ts";

/** How long work is put off that waits for a worker of its version: one is connected, but has no room or is elsewhere ... */
const HOLD_MS = 10_000;
/** ... or none is. One that connects meanwhile gets it at once. */
const HOLD_FOR_NOBODY_MS = 60_000;

export interface PlacingParts {
  readonly runs: Runs;
  readonly agents: Agents;
  readonly dispatches: Dispatches;
  readonly decider: Decider;
}

/** Gives claimed jobs to agents: to one of the version that has started the run, as the policy says. */
export class Placing {
  readonly #options: EngineOptions;
  readonly #parts: PlacingParts;
  readonly #versions: Versions;
  readonly #onHeld: (functionId: string) => void;

  constructor(options: EngineOptions, parts: PlacingParts, onHeld: (functionId: string) => void) {
    this.#options = options;
    this.#parts = parts;
    this.#onHeld = onHeld;
    this.#versions = new Versions(options);
  }

  /** The run is retained by the caller for as long as this call takes. */
  place(job: ClaimedJob, state: RunState): void {
    const { agents, dispatches } = this.#parts;
    const { clock, settings, log } = this.#options;
    const isFirst = job.epoch === 1 && state.dispatches <= 1 && state.memo.size === 0;
    const version = isFirst || settings.versionPolicy === "any" ? null : state.appVersion;
    const slot = agents.reserve(job.functionId, clock.monotonicMs(), version);
    if (slot) {
      const running = agents.versionOf(slot, job.functionId);
      if (!isFirst || running === state.appVersion) dispatches.start(job, job.epoch, slot, state);
      else this.#inTurn(job, this.#pin(job, slot, running));
    } else if (version === null || agents.hasVersion(job.functionId, version)) {
      if (version === null) dispatches.release([{ jobId: job.id, epoch: job.epoch, lost: false }]);
      else this.#hold(job, HOLD_MS);
    } else {
      this.#inTurn(job, this.#placeElsewhere(job, state));
      log("debug", `Run ${job.runId} belongs to version "${version}" of its app, which is not connected here.`);
    }
  }

  /** The version that starts a run is written down before it does. */
  async #pin(job: ClaimedJob, slot: Slot, version: string): Promise<void> {
    const { agents, decider, dispatches, runs } = this.#parts;
    const fence = { jobId: job.id, epoch: job.epoch };
    let started = false;
    try {
      const outcome = await decider.run(job.runId, { type: "pin", jobId: job.id, version }, fence);
      const state = outcome === "won" ? await runs.load(job.runId) : null;
      if (!state) return;
      started = true;
      dispatches.start(job, job.epoch, slot, state);
    } finally {
      if (!started) agents.release(slot);
    }
  }

  async #placeElsewhere(job: ClaimedJob, state: RunState): Promise<void> {
    const { agents, dispatches } = this.#parts;
    const { clock, settings } = this.#options;
    const isElsewhere = await this.#versions.isElsewhere(state.appId, state.appVersion);
    if (isElsewhere) return this.#hold(job, HOLD_MS);
    if (settings.versionPolicy === "strict") return this.#hold(job, HOLD_FOR_NOBODY_MS);
    const slot = agents.reserve(job.functionId, clock.monotonicMs(), null);
    if (slot) dispatches.start(job, job.epoch, slot, state);
    else dispatches.release([{ jobId: job.id, epoch: job.epoch, lost: false }]);
  }

  /** Puts work off that nobody here may take, so that it is not claimed again and again, and keeps no other work waiting. */
  #hold({ id: jobId, epoch, functionId }: ClaimedJob, holdMs: number): void {
    this.#parts.dispatches.release([{ jobId, epoch, lost: false, holdMs }], () => {
      this.#onHeld(functionId);
      this.#options.store.notify({ type: "held", functionIds: [functionId] });
    });
  }

  #inTurn(job: ClaimedJob, work: Promise<void>): void {
    const { runs } = this.#parts;
    runs.retain(job.runId);
    work
      .catch((error: unknown) => {
        // Its lease ends, and somebody claims it again.
        this.#options.log(
          levelFor(error, "warn"),
          `Run ${job.runId} could not be given to an agent: ${messageOf(error)}`,
        );
      })
      .finally(() => runs.release(job.runId));
  }
}
