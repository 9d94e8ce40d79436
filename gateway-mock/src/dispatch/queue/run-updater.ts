/**
 * The only way a run changes: load, decide (packages/engine), commit, and emit what follows; again when another write
 * came first. Replies, timers, arrivals and cancellations all end here.
 */
import { createUlidFactory, HoldfastError, messageOf, plainError, type UlidFactory } from "@holdfast/core";
import {
  type DecideContext,
  type Decision,
  type DeferMeta,
  decide,
  decideTogether,
  type Expressions,
  type Input,
  isEnded,
  type RunState,
  readMeta,
  type StepEnd,
  seenText,
} from "@holdfast/engine";
import { type CommitOutcome, type Fence, isRefusedForData, type LostWhy } from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";
import {
  type AfterCommit,
  abandonedJobs,
  type Committed,
  type Emit,
  effectsOfCommit,
  endsWaits,
  type LeasedJob,
} from "../dispatcher-effects.ts";
import type { EventIntake, Prepared } from "../events/event-intake.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { CommitResult, DecidedTransition, RunCache } from "../run-cache.ts";
import type { Spans } from "../spans.ts";
import type { Workers } from "../workers/workers.ts";
import type { DecideOutcome } from "./decide-outcome.ts";
import { type AskedEnd, JoinedEnds } from "./joined-ends.ts";
import { NextJobs, type NextJobsParts } from "./next-jobs.ts";

export interface RunUpdaterParts extends NextJobsParts {
  readonly runs: RunCache;
  readonly expressions: Expressions;
  readonly time: DatabaseTime;
  readonly spans: Spans;
  /** Where events that happen with a decision start what they start. */
  readonly intake: Pick<EventIntake, "prepareInternal" | "startPrepared" | "releasePrepared">;
}

const MAX_TRIES = 16;

/** Where it is none of the outcomes of a decision, the decision is to be made again. */
type CommitEnd = DecideOutcome | "again" | "signal" | "registry";

/** What a decision is made of, and how it is to be stored. */
interface Asked {
  readonly decide: (state: RunState, context: DecideContext) => Decision | null;
  /** The input may mean something for a run that has ended. */
  readonly revives: boolean;
  readonly fence: Fence | null;
  /** Jobs of no run that are over with the decision. */
  readonly endedJobs: () => readonly string[];
  /** Its jobs may be for workers whose requests wait for room. */
  readonly mayWait: boolean;
}

const NO_JOBS: readonly never[] = [];
const noJobs = () => NO_JOBS;

/** A decision that is about to be stored. */
interface PreparedCommit extends Pick<Committed, "leased" | "abandoned" | "endedWaits"> {
  readonly writes: Writes;
  /** The events that happen with it. */
  readonly events: readonly Prepared[];
}

type StoredOutcome = Extract<CommitOutcome, { readonly won: true }>;

const NO_LEASES: readonly LeasedJob[] = [];

/**
 * Changes runs: decides and commits, until the decision was made on what is true at its commit, and emits what follows
 * from it.
 */
export class RunUpdater {
  readonly #options: DispatcherOptions;
  readonly #parts: RunUpdaterParts;
  readonly #runs: RunCache;
  readonly #workers: Workers;
  readonly #counters: DispatcherCounters;
  readonly #emit: Emit<AfterCommit>;
  readonly newId: UlidFactory;
  readonly #jobs: NextJobs;
  readonly #ends: JoinedEnds;

  constructor(options: DispatcherOptions, parts: RunUpdaterParts, emit: Emit<AfterCommit>) {
    this.#options = options;
    this.#parts = parts;
    this.#runs = parts.runs;
    this.#workers = parts.workers;
    this.#counters = parts.counters;
    this.#emit = emit;
    this.newId = createUlidFactory(options.clock, options.random);
    this.#jobs = new NextJobs(options, parts);
    this.#ends = new JoinedEnds(parts.runs, {
      one: (runId, { end, fence, endsJob }) => this.#applyNow(runId, end, fence, endsJob),
      together: (runId, asked) => this.#applyTogether(runId, asked),
    });
  }

  context(takenSignals?: ReadonlySet<string>): DecideContext {
    const { random, settings } = this.#options;
    const { time, spans } = this.#parts;
    const { retry, maxSteps, maxStateLength } = settings;
    return {
      nowMs: time.nowMs(),
      latestMs: time.latestMs(),
      random,
      newId: this.newId,
      retry,
      maxSteps,
      maxStateLength,
      hasFunction: this.#hasFunction,
      expressionProblem: this.#expressionProblem,
      waitMatch: this.#waitMatch,
      isSignalTaken: takenSignals ? (signal) => takenSignals.has(signal) : noneTaken,
      spanOf: spans.spanOf,
    };
  }

  // Functions of their own, not made anew for each context: each checkpoint has one.
  readonly #hasFunction: DecideContext["hasFunction"] = (functionId) =>
    this.#parts.functions.get(functionId)?.active === true || this.#workers.accepts(functionId);

  readonly #expressionProblem: DecideContext["expressionProblem"] = (source) =>
    this.#parts.expressions.waitProblem(source);

  readonly #waitMatch: DecideContext["waitMatch"] = (condition, eventText, of) =>
    this.#parts.expressions.matchOf(condition, () => seenText(eventText), of, this.#parts.time.nowMs());

  /**
   * In its turn: decisions on one run are never made at the same time. The job `endsJob`, of no run, is over with a
   * decision that is stored.
   */
  apply(runId: string, input: Input, fence: Fence | null, endsJob?: string): Promise<DecideOutcome> {
    return this.#runs.serial(runId, () => this.#applyNow(runId, input, fence, endsJob));
  }

  /** As `apply`; ends that come while a decision on the run is being stored are decided on together. */
  endStep(runId: string, end: StepEnd, fence: Fence | null, endsJob?: string): Promise<DecideOutcome> {
    return this.#ends.decide(runId, { end, fence, endsJob });
  }

  #applyNow(runId: string, input: Input, fence: Fence | null, endsJob?: string): Promise<DecideOutcome> {
    const endedJobs = endsJob === undefined ? noJobs : () => [endsJob];
    return this.#attempt(runId, askedOf(input, fence, endedJobs)).catch((error: unknown) => {
      if (input.type === "fail" || !fence || !isRefusedForData(error)) throw error;
      this.#options.log("error", `Failing a run that cannot be stored: ${messageOf(error)}`, { runId });
      const why = plainError("STORE_FAILED", messageOf(error));
      return this.#attempt(runId, askedOf({ type: "fail", jobId: fence.jobId, error: why }, fence, noJobs));
    });
  }

  /**
   * Without the fences of timers, of which each is of another job: a timer that another gateway has decided on is none
   * of this state's, or the state is an old one.
   */
  async #applyTogether(runId: string, asked: readonly AskedEnd[]): Promise<readonly DecideOutcome[]> {
    const ends = asked.map(({ end }) => end);
    let counted: readonly boolean[] = [];
    const outcome = await this.#attempt(runId, {
      decide: (state, context) => {
        const joined = decideTogether(state, ends, context);
        counted = joined?.counted ?? [];
        return joined?.decision ?? null;
      },
      revives: false,
      fence: null,
      endedJobs: () => asked.flatMap(({ endsJob }, index) => (endsJob && counted[index] ? [endsJob] : [])),
      mayWait: false,
    });
    return outcome === "won" ? counted.map((isCounted) => (isCounted ? "won" : "nothing")) : asked.map(() => outcome);
  }

  async #attempt(runId: string, asked: Asked): Promise<DecideOutcome> {
    let takenSignals: ReadonlySet<string> | undefined;
    let reloaded = false;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const known = this.#runs.peek(runId);
      const state = known ?? (await this.#runs.load(runId));
      if (!state) return "gone";
      const decision = asked.decide(state, this.context(takenSignals));
      if (!decision) {
        // The cached state may be older than the stored one.
        if (!known || (isEnded(state.status) && !asked.revives)) return "nothing";
        this.#runs.forget(runId);
        continue;
      }
      if (!reloaded && this.#needsUnknown(state, decision)) {
        // Another gateway may have heard of it a moment ago.
        reloaded = true;
        await this.#parts.functions.load();
        continue;
      }
      if (this.#cannotContinue(state, decision)) {
        throw new HoldfastError(
          "STORE_FAILED",
          `The function of run ${runId} is not registered, so it cannot continue.`,
        );
      }
      const outcome = await this.#commit(state, decision, asked);
      if (outcome === "signal") takenSignals = await this.#addTakenSignals(decision, takenSignals);
      else if (outcome === "registry") this.#counters.registryMoved += 1;
      else if (outcome !== "again") return outcome;
      else this.#counters.casLost += 1;
    }
    throw new HoldfastError("STORE_FAILED", `A write to run ${runId} conflicted with other writes ${MAX_TRIES} times.`);
  }

  /** It rests on a function that this gateway does not know. */
  #needsUnknown(state: RunState, decision: Decision): boolean {
    return decision.unknownFunctions.length > 0 || this.#cannotContinue(state, decision);
  }

  #cannotContinue({ functionId }: RunState, { events }: Decision): boolean {
    const continues = events.some(({ invokes }) => invokes?.continues !== undefined);
    return continues && this.#parts.functions.get(functionId) === undefined;
  }

  async #addTakenSignals({ addWaits }: Decision, known: ReadonlySet<string> | undefined): Promise<Set<string>> {
    const taken = new Set(known);
    const names = addWaits.filter((wait) => wait.kind === "signal").map((wait) => wait.name);
    for (const name of names) {
      const [holder] = await this.#options.store.findWaits({ name, kinds: ["signal"], limit: 1 });
      if (holder) taken.add(name);
    }
    return taken;
  }

  /** Short, as a function that waits keeps all of its variables, and each run waits here. */
  async #commit(state: RunState, decision: Decision, asked: Asked): Promise<CommitEnd> {
    const prepared = this.#prepare(state, decision, asked);
    const { writes } = prepared;
    let committed: CommitResult | null = null;
    try {
      committed = await this.#runs.commit(state, writes);
    } finally {
      if (!committed?.outcome.won) this.#giveUp(prepared, state);
    }
    const { outcome, state: stored } = committed;
    if (!outcome.won) return this.#onLostCommit(outcome.why, writes.registryVersion);
    this.#warnOfRejected(state, decision);
    this.#follow(prepared, outcome, state, stored);
    return "won";
  }

  /** In the turn in which the decision was made, as are the runs that its events start. */
  #prepare(state: RunState, decision: Decision, { fence, endedJobs, mayWait }: Asked): PreparedCommit {
    const { intake, functions } = this.#parts;
    const { version: registryVersion } = functions;
    const appVersion = decision.head.appVersion ?? state.appVersion;
    const { jobs, leased } = this.#jobs.prepare(state, decision.addJobs, appVersion, mayWait);
    const events = decision.events.map((event) => intake.prepareInternal(event));
    const writes = writesOf(decision, events, { fence, addJobs: jobs, registryVersion });
    const endsJobs = endedJobs();
    if (endsJobs.length > 0) writes.endsJobs = endsJobs;
    const abandoned = abandonedJobs(state, decision, fence);
    return { writes, leased, events, abandoned, endedWaits: endsWaits(state, decision) };
  }

  /** What follows from it once it is stored. */
  #follow(prepared: PreparedCommit, { atMs, seq, awaited }: StoredOutcome, state: RunState, stored: RunState): void {
    const { writes, leased, events, abandoned, endedWaits } = prepared;
    // Another gateway may have ended it before it was read again: no worker is to begin what is over.
    const isOver = isEnded(stored.status) && !isEnded(state.status);
    if (isOver) this.#jobs.giveBack(leased, state);
    const { addJobs } = writes;
    const committed = { state, stored, endedWaits, abandoned, addJobs, leased: isOver ? NO_LEASES : leased, atMs };
    const limits = this.#parts.functions.get(state.functionId)?.limits;
    const takesPlace = Boolean(state.flow?.slots.length || limits?.slots.length);
    for (const effect of effectsOfCommit({ ...committed, takesPlace })) this.#emit(effect);
    for (const one of events) {
      this.#parts.intake.startPrepared(one, { atMs, seq, awaited: awaited.includes(one.item.event.id) });
    }
  }

  /** It was not stored. */
  #giveUp({ leased, events }: PreparedCommit, state: RunState): void {
    this.#jobs.giveBack(leased, state);
    for (const one of events) this.#parts.intake.releasePrepared(one);
  }

  async #onLostCommit(why: LostWhy, registryVersion: number): Promise<CommitEnd> {
    switch (why) {
      case "registry":
        await this.#parts.functions.renew(registryVersion);
        return why;
      case "version":
        return "again";
      case "signal":
      case "gone":
      case "stale":
        return why;
      default:
        return "nothing";
    }
  }

  #warnOfRejected({ runId }: RunState, { log }: Decision): void {
    for (const { kind, dataJson } of log) {
      if (kind !== "DEFERRED") continue;
      const { functionId, name, rejected } = readMeta<DeferMeta>(dataJson);
      if (rejected === undefined) continue;
      this.#options.log("warn", `"${name ?? functionId}" is not deferred: ${rejected}`, { runId, functionId });
    }
  }
}

function askedOf(input: Input, fence: Fence | null, endedJobs: () => readonly string[]): Asked {
  return {
    decide: (state, context) => decide(state, input, context),
    revives: input.type === "revive" || input.type === "resume",
    fence,
    endedJobs,
    // A worker's report: the run was in memory before, and may be kept there until the worker has room for more.
    mayWait: input.type === "report",
  };
}

const noneTaken = (): boolean => false;

/** Set field by field: most decisions have few of them, and each run has decisions. */
type Writes = { -readonly [Field in keyof DecidedTransition]: DecidedTransition[Field] } & {
  registryVersion: number;
};

function writesOf(
  { log, head, removeJobs, removeWaits, addWaits, revives }: Decision,
  prepared: readonly Prepared[],
  { fence, addJobs, registryVersion }: Required<Pick<DecidedTransition, "fence" | "addJobs" | "registryVersion">>,
): Writes {
  const writes: Writes = { fence, log, head, removeJobs, addJobs, registryVersion };
  if (revives) writes.revives = revives;
  if (removeWaits.length > 0) writes.removeWaits = removeWaits;
  if (addWaits.length > 0) writes.addWaits = addWaits;
  if (prepared.length > 0) writes.events = prepared.map(({ item }) => item);
  return writes;
}
