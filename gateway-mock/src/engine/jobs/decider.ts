import { createUlidFactory, HoldfastError, messageOf, type UlidFactory } from "@holdfast/core";
import { type Fence, isRefusedForData, type LostWhy, type NewJob, type Transition } from "../../store/index.ts";
import { type Agents, leaseOf, type Slot } from "../agents/agents.ts";
import type { DatabaseTime } from "../database-time.ts";
import type { DecideContext } from "../decide/context.ts";
import { decide } from "../decide/decide.ts";
import type { Decision } from "../decide/draft.ts";
import type { Input } from "../decide/input.ts";
import type { Intake, Prepared } from "../events/intake.ts";
import type { Expressions } from "../expressions/expressions.ts";
import type { Functions } from "../functions/functions.ts";
import { laneOf } from "../functions/triggers.ts";
import type { EngineCounters, EngineOptions } from "../ports.ts";
import { applyRow } from "../run/fold.ts";
import { type DeferMeta, readMeta } from "../run/log-rows.ts";
import { isEnded, needsAgent, type RunState } from "../run/run-state.ts";
import type { Runs } from "../runs.ts";

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
  /** These jobs are no more, though an agent may be at them, here or elsewhere. */
  removed(jobIds: readonly string[]): void;
  /** Places of this function's limits may be free again. */
  freed(functionId: string): void;
  /** May work be leased at birth? */
  mayLease(): boolean;
  /** Where events that happen with a decision start what they start. */
  intake(): Pick<Intake, "prepareMade" | "begin" | "giveBack">;
  /** The lease of jobs that tell others; null when this gateway takes no more of them. */
  tellingLease(): NewJob["lease"];
  /** The run's end is to be told to whoever invoked it; the job is leased to this gateway. */
  childEnded(runId: string, jobId: string): void;
}

export interface DeciderParts {
  readonly runs: Runs;
  readonly agents: Agents;
  readonly functions: Functions;
  readonly expressions: Expressions;
  readonly counters: EngineCounters;
  readonly time: DatabaseTime;
}

const MAX_TRIES = 16;

/** Decides and commits, until the decision was made on what is true at its commit. */
export class Decider {
  readonly #options: EngineOptions;
  readonly #parts: DeciderParts;
  readonly #runs: Runs;
  readonly #agents: Agents;
  readonly #counters: EngineCounters;
  readonly #hooks: DeciderHooks;
  readonly newId: UlidFactory;

  constructor(options: EngineOptions, parts: DeciderParts, hooks: DeciderHooks) {
    this.#options = options;
    this.#parts = parts;
    this.#runs = parts.runs;
    this.#agents = parts.agents;
    this.#counters = parts.counters;
    this.#hooks = hooks;
    this.newId = createUlidFactory(options.clock, options.random);
  }

  context(takenSignals: ReadonlySet<string> = NO_SIGNALS): DecideContext {
    const { random, settings } = this.#options;
    const { functions, expressions } = this.#parts;
    const { retry, maxSteps, maxStateLength } = settings;
    return {
      nowMs: this.#parts.time.nowMs(),
      latestMs: this.#parts.time.latestMs(),
      random,
      newId: this.newId,
      retry,
      maxSteps,
      maxStateLength,
      hasFunction: (functionId) => functions.get(functionId)?.active === true || this.#agents.run(functionId),
      expressionProblem: (source) => expressions.problem(source),
      waitMatch: (condition, eventText) => expressions.matchOf(condition, () => JSON.parse(eventText)),
      isSignalTaken: (signal) => takenSignals.has(signal),
    };
  }

  /** The database's time, as well as it is known. Our wall clock may be wrong, and may jump. */
  /** In its turn: decisions on one run are never made at the same time. */
  run(runId: string, input: Input, fence: Fence | null): Promise<DecideOutcome> {
    return this.#runs.serial(runId, async () => {
      try {
        return await this.#attempt(runId, input, fence);
      } catch (error) {
        if (input.type === "fail" || !fence || !isRefusedForData(error)) throw error;
        this.#options.log("error", `A run fails because it cannot be stored: ${messageOf(error)}`, { runId });
        const why = { name: "HoldfastError", code: "STORE_FAILED", message: messageOf(error) };
        return this.#attempt(runId, { type: "fail", jobId: fence.jobId, error: why }, fence);
      }
    });
  }

  async #attempt(runId: string, input: Input, fence: Fence | null): Promise<DecideOutcome> {
    const takenSignals = new Set<string>();
    let reloaded = false;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const fresh = this.#runs.peek(runId) === null;
      const state = await this.#runs.load(runId);
      if (!state) return "gone";
      const decision = decide(state, input, this.context(takenSignals));
      if (!decision) {
        // What is at hand may be behind the store.
        if (fresh || (isEnded(state.status) && input.type !== "revive")) return "nothing";
        this.#runs.forget(runId);
        continue;
      }
      if (decision.unknownFunctions.length > 0 && !reloaded) {
        // Another gateway may have heard of it a moment ago.
        reloaded = true;
        await this.#parts.functions.load();
        continue;
      }
      // An agent's report: the run was in memory before, and may be kept there until the agent has room for more.
      const outcome = await this.#commit(state, decision, fence, input.type === "report");
      if (outcome === "signal") await this.#lookForSignals(decision, takenSignals);
      else if (outcome === "registry") this.#counters.registryMoved += 1;
      else if (outcome !== "again") return outcome;
      else this.#counters.casLost += 1;
      this.#runs.forget(runId);
    }
    throw new HoldfastError("STORE_FAILED", `A decision on run ${runId} lost against others ${MAX_TRIES} times.`);
  }

  async #lookForSignals({ addWaits }: Decision, taken: Set<string>): Promise<void> {
    const names = addWaits.filter((wait) => wait.kind === "signal").map((wait) => wait.name);
    for (const name of names) {
      const [holder] = await this.#options.store.findWaits({ name, kinds: ["signal"], limit: 1 });
      if (holder) taken.add(name);
    }
  }

  async #commit(
    state: RunState,
    decision: Decision,
    fence: Fence | null,
    mayWait: boolean,
  ): Promise<DecideOutcome | "again" | "signal" | "registry"> {
    // The decision was made in this turn, and so are the runs that its events start.
    const { version: registryVersion } = this.#parts.functions;
    const jobs = this.#inLanes(state, decision.addJobs);
    const born = this.#lease(jobs, state.appVersion, mayWait);
    const prepared = decision.events.map((event) => this.#hooks.intake().prepareMade(event));
    const addJobs = this.#withLeases(jobs, born);
    const rest = { fence, addJobs, prepared, registryVersion };
    let won = false;
    try {
      const outcome = await this.#options.store.commit(transitionOf(state, decision, rest));
      if (!outcome.won) return await this.#lost(state.runId, outcome.why, registryVersion);
      won = true;
      this.#parts.time.observe(outcome.atMs);
      this.#apply(state, { ...decision, addJobs }, outcome, born, fence);
      for (const one of prepared) {
        this.#hooks.intake().begin(one, { atMs: outcome.atMs, awaited: outcome.awaited.includes(one.item.event.id) });
      }
      return "won";
    } catch (error) {
      // Its fate may be unknown.
      this.#runs.forget(state.runId);
      throw error;
    } finally {
      if (!won) {
        for (const { slot } of born) this.#agents.release(slot);
        for (const one of prepared) this.#hooks.intake().giveBack(one);
      }
    }
  }

  async #lost(
    runId: string,
    why: LostWhy,
    registryVersion: number,
  ): Promise<DecideOutcome | "again" | "signal" | "registry"> {
    switch (why) {
      case "registry":
        await this.#parts.functions.renew(registryVersion);
        return why;
      case "version":
        return "again";
      case "signal":
      case "gone":
        return why;
      case "stale":
        this.#runs.forget(runId);
        return "stale";
      default:
        return "nothing";
    }
  }

  #apply(
    state: RunState,
    decision: Decision,
    outcome: { readonly inserted: readonly boolean[]; readonly version: number | null; readonly atMs: number },
    born: readonly BornJob[],
    fence: Fence | null,
  ): void {
    const others = decision.removeJobs === "all" && runsElsewhere(state, fence);
    const given = decision.removeJobs === "all" ? [] : mayHaveAgent(state, decision.removeJobs, fence, outcome.atMs);
    for (const [index, row] of decision.log.entries()) {
      if (outcome.inserted[index]) applyRow(state, row, outcome.atMs);
      if (row.kind === "DEFERRED") this.#warnOfRejected(state.runId, readMeta<DeferMeta>(row.dataJson));
    }
    state.version = outcome.version ?? state.version + 1;
    if (state.flow && state.flow.slots.length > 0) this.#hooks.freed(state.functionId);
    if (isEnded(state.status)) {
      for (const job of decision.addJobs) if (job.lease) this.#hooks.childEnded(job.key, job.id);
      this.#hooks.ended(state, others);
      return;
    }
    if (given.length > 0) this.#hooks.removed(given);
    if (born.length > 0) this.#hooks.born(born, state);
    this.#tellQueued(decision.addJobs, outcome.atMs);
  }

  #warnOfRejected(runId: string, { functionId, name, rejected }: DeferMeta): void {
    if (rejected === undefined) return;
    this.#options.log("warn", `"${name ?? functionId}" is not deferred: ${rejected}`, { runId, functionId });
  }

  #tellQueued(jobs: readonly NewJob[], atMs: number): void {
    const soonestMs = new Map<string, number>();
    for (const { lease, functionId, delayMs = 0, notBeforeMs } of jobs) {
      if (lease) continue;
      const dueInMs = Math.max(delayMs, (notBeforeMs ?? 0) - atMs);
      soonestMs.set(functionId, Math.min(dueInMs, soonestMs.get(functionId) ?? dueInMs));
    }
    for (const [functionId, dueInMs] of soonestMs) this.#hooks.queued(functionId, dueInMs);
  }

  /** Jobs of a run that is held back are held back as its first one was. */
  #inLanes({ flow, functionId }: RunState, jobs: readonly NewJob[]): readonly NewJob[] {
    const limited = flow ? flow.slots.length > 0 : this.#parts.functions.get(functionId)?.limits;
    if (!flow && !limited) return jobs;
    const lane = limited || this.#parts.functions.get(functionId)?.limits ? laneOf(flow?.slots ?? []) : null;
    const priority = flow?.priority ?? 0;
    return jobs.map((job) => (needsAgent(job) ? { ...job, priority, ...(lane ? { lane } : {}) } : job));
  }

  /** Reserves places for jobs that are due at once. */
  #lease(jobs: readonly NewJob[], appVersion: string, mayWait: boolean): BornJob[] {
    const { clock, settings } = this.#options;
    const version = settings.versionPolicy === "any" ? null : appVersion;
    const born: BornJob[] = [];
    for (const job of jobs) {
      if (!needsAgent(job) || job.lane || job.delayMs || job.notBeforeMs || !this.#hooks.mayLease()) continue;
      const slot = this.#agents.reserve(job.functionId, clock.monotonicMs(), version, mayWait);
      if (!slot) break;
      born.push({ job, slot });
    }
    this.#counters.bornLeased += born.length;
    return born;
  }

  #withLeases(jobs: readonly NewJob[], born: readonly BornJob[]): NewJob[] {
    const { gatewayId } = this.#options.settings;
    const slots = new Map(born.map(({ job, slot }) => [job, slot]));
    return jobs.map((job) => {
      const slot = slots.get(job);
      if (slot) return { ...job, lease: leaseOf(slot, gatewayId) };
      return job.kind === "child" ? { ...job, lease: this.#hooks.tellingLease() ?? null } : job;
    });
  }
}

const NO_SIGNALS: ReadonlySet<string> = new Set();

function transitionOf(
  state: RunState,
  decision: Decision,
  rest: {
    readonly fence: Fence | null;
    readonly addJobs: readonly NewJob[];
    readonly prepared: readonly Prepared[];
    readonly registryVersion: number;
  },
): Transition {
  const { log, head, removeJobs, removeWaits, addWaits } = decision;
  const { fence, addJobs, prepared, registryVersion } = rest;
  return {
    runId: state.runId,
    fence,
    cas: state.version,
    log,
    head,
    removeJobs,
    addJobs,
    registryVersion,
    ...(decision.revives ? { revives: true as const } : {}),
    ...(removeWaits.length > 0 ? { removeWaits } : {}),
    ...(addWaits.length > 0 ? { addWaits } : {}),
    ...(prepared.length > 0 ? { events: prepared.map(({ item }) => item) } : {}),
  };
}

/** Those of these jobs that somebody may have claimed, but for the one that the decision came from. */
function mayHaveAgent(state: RunState, jobIds: readonly string[], fence: Fence | null, nowMs: number): string[] {
  if (jobIds.length === 0 || (jobIds.length === 1 && jobIds[0] === fence?.jobId)) return [];
  const jobs = [...state.jobs.values()].filter((job) => needsAgent(job) && job.dueMs <= nowMs);
  return jobs.flatMap(({ id }) => (jobIds.includes(id) && id !== fence?.jobId ? [id] : []));
}

/** Whether an agent may be at another job of the run than the one that the decision came from. */
function runsElsewhere(state: RunState, fence: Fence | null): boolean {
  for (const job of state.jobs.values()) if (needsAgent(job) && job.id !== fence?.jobId) return true;
  return false;
}
