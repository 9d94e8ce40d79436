import { createUlidFactory, HoldfastError, type UlidFactory } from "@holdfast/core";
import type { Fence, NewJob } from "../store/index.ts";
import type { Agents, Slot } from "./agents.ts";
import { decide, type Input } from "./decide.ts";
import type { DecideContext, Decision } from "./draft.ts";
import { applyRow } from "./fold.ts";
import type { EngineCounters, EngineOptions } from "./ports.ts";
import { isEnded, type RunState } from "./run-state.ts";
import type { Runs } from "./runs.ts";

/** `nothing`: the input changes nothing (any more). `stale`: somebody else has the work. */
export type DecideOutcome = "won" | "nothing" | "stale" | "gone";

/** A job that was born leased to this gateway, for an agent whose place is reserved. */
export interface BornJob {
  readonly job: NewJob;
  readonly slot: Slot;
}

export interface DeciderHooks {
  /** Dispatch these now. */
  born(jobs: readonly BornJob[], state: RunState): void;
  /** Jobs of the function were made that nobody here took; the earliest is due in this long. */
  queued(functionId: string, dueInMs: number): void;
  /** The run ended; `others` = some of its jobs may be running elsewhere. */
  ended(state: RunState, others: boolean): void;
  /** May work be leased at birth? */
  mayLease(): boolean;
}

const MAX_TRIES = 16;
/** Below this the database's clock is taken to agree with ours. */
const CLOCK_TOLERANCE_MS = 500;

/** Decides and commits, until the decision was made on what is true at its commit. */
export class Decider {
  readonly #options: EngineOptions;
  readonly #runs: Runs;
  readonly #agents: Agents;
  readonly #counters: EngineCounters;
  readonly #hooks: DeciderHooks;
  readonly newId: UlidFactory;
  #offsetMs = 0;

  constructor(options: EngineOptions, runs: Runs, agents: Agents, counters: EngineCounters, hooks: DeciderHooks) {
    this.#options = options;
    this.#runs = runs;
    this.#agents = agents;
    this.#counters = counters;
    this.#hooks = hooks;
    this.newId = createUlidFactory(options.clock, options.random);
  }

  context(): DecideContext {
    const { clock, random, settings } = this.#options;
    const { retry, maxSteps } = settings;
    return { nowMs: clock.nowMs() + this.#offsetMs, random, newId: this.newId, retry, maxSteps };
  }

  /** What the database's clock says, as well as it is known. */
  observe(atMs: number): void {
    const offsetMs = atMs - this.#options.clock.nowMs();
    this.#offsetMs = Math.abs(offsetMs) > CLOCK_TOLERANCE_MS ? offsetMs : 0;
  }

  /** In its turn: decisions on one run are never made at the same time. */
  run(runId: string, input: Input, fence: Fence | null): Promise<DecideOutcome> {
    return this.#runs.serial(runId, () => this.#attempt(runId, input, fence));
  }

  async #attempt(runId: string, input: Input, fence: Fence | null): Promise<DecideOutcome> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const fresh = this.#runs.peek(runId) === null;
      const state = await this.#runs.load(runId);
      if (!state) return "gone";
      const decision = decide(state, input, this.context());
      if (!decision) {
        // What is at hand may be behind the store.
        if (fresh || isEnded(state.status)) return "nothing";
        this.#runs.forget(runId);
        continue;
      }
      const outcome = await this.#commit(state, decision, fence);
      if (outcome !== "again") return outcome;
      this.#counters.casLost += 1;
      this.#runs.forget(runId);
    }
    throw new HoldfastError("STORE_FAILED", `A decision on run ${runId} lost against others ${MAX_TRIES} times.`);
  }

  async #commit(state: RunState, decision: Decision, fence: Fence | null): Promise<DecideOutcome | "again"> {
    const born = this.#lease(decision.addJobs);
    const addJobs = born.length === 0 ? decision.addJobs : this.#withLeases(decision.addJobs, born);
    const { runId } = state;
    let won = false;
    try {
      const outcome = await this.#options.store.commit({
        runId,
        fence,
        cas: state.version,
        log: decision.log,
        head: decision.head,
        removeJobs: decision.removeJobs,
        addJobs,
      });
      if (!outcome.won) {
        if (outcome.why === "version") return "again";
        if (outcome.why === "stale") this.#runs.forget(runId);
        return outcome.why === "stale" ? "stale" : outcome.why === "gone" ? "gone" : "nothing";
      }
      won = true;
      this.observe(outcome.atMs);
      this.#apply(state, decision, outcome, born);
      return "won";
    } catch (error) {
      // Its fate may be unknown.
      this.#runs.forget(runId);
      throw error;
    } finally {
      if (!won) for (const { slot } of born) this.#agents.release(slot);
    }
  }

  #apply(
    state: RunState,
    decision: Decision,
    outcome: { readonly inserted: readonly boolean[]; readonly version: number | null; readonly atMs: number },
    born: readonly BornJob[],
  ): void {
    const others = decision.removeJobs === "all" && runnable(state) > 1;
    for (const [index, row] of decision.log.entries()) {
      if (outcome.inserted[index]) applyRow(state, row, outcome.atMs);
    }
    state.version = outcome.version ?? state.version + 1;
    if (isEnded(state.status)) this.#hooks.ended(state, others);
    else {
      if (born.length > 0) this.#hooks.born(born, state);
      this.#tellQueued(state.functionId, decision.addJobs, born, outcome.atMs);
    }
  }

  #tellQueued(functionId: string, jobs: readonly NewJob[], born: readonly BornJob[], atMs: number): void {
    if (jobs.length <= born.length) return;
    let soonestMs = Number.POSITIVE_INFINITY;
    const taken = new Set(born.map(({ job }) => job));
    for (const job of jobs) {
      if (taken.has(job)) continue;
      soonestMs = Math.min(soonestMs, Math.max(job.delayMs ?? 0, (job.notBeforeMs ?? 0) - atMs));
    }
    if (soonestMs !== Number.POSITIVE_INFINITY) this.#hooks.queued(functionId, soonestMs);
  }

  /** Reserves places for jobs that are due at once. */
  #lease(jobs: readonly NewJob[]): BornJob[] {
    const born: BornJob[] = [];
    for (const job of jobs) {
      if (job.kind === "timer" || job.delayMs || job.notBeforeMs || !this.#hooks.mayLease()) continue;
      const slot = this.#agents.reserve(job.functionId, this.#options.clock.monotonicMs());
      if (!slot) break;
      born.push({ job, slot });
    }
    this.#counters.bornLeased += born.length;
    return born;
  }

  #withLeases(jobs: readonly NewJob[], born: readonly BornJob[]): NewJob[] {
    const slots = new Map(born.map(({ job, slot }) => [job, slot]));
    return jobs.map((job) => {
      const slot = slots.get(job);
      return slot ? { ...job, lease: this.leaseOf(slot) } : job;
    });
  }

  leaseOf(slot: Slot): NonNullable<NewJob["lease"]> {
    return { gatewayId: this.#options.settings.gatewayId, leaseMs: slot.session.leaseMs };
  }
}

function runnable(state: RunState): number {
  let count = 0;
  for (const job of state.jobs.values()) if (job.kind !== "timer") count += 1;
  return count;
}
