import { createUlidFactory, messageOf, unreachable } from "@holdfast/core";
import { type AppRecord, levelFor, type NewJob } from "../store/index.ts";
import { type AgentSession, Agents, type Slot } from "./agents/agents.ts";
import { Dispatches } from "./agents/dispatches.ts";
import { Leases } from "./agents/leases.ts";
import { Ownership } from "./agents/ownership.ts";
import { Presence } from "./agents/presence.ts";
import { Proofs } from "./agents/proofs.ts";
import { Stalls } from "./agents/stalls.ts";
import { stopJobs, stopWork } from "./agents/stop-work.ts";
import { DatabaseTime } from "./database-time.ts";
import type { Input } from "./decide/input.ts";
import type { AttachedAgent, EngineFrame, EngineStatus } from "./engine-types.ts";
import type { RawEvent } from "./events/event-checks.ts";
import { Intake, type SendOptions } from "./events/intake.ts";
import { Starter } from "./events/starter.ts";
import { Expressions } from "./expressions/expressions.ts";
import { Functions } from "./functions/functions.ts";
import { Reading } from "./functions/reading.ts";
import { type DecideOutcome, Decider } from "./jobs/decider.ts";
import { FailedAttempts } from "./jobs/failed-attempts.ts";
import { FanOut, TELLING_LEASE_MS } from "./jobs/fan-out.ts";
import { Fetches } from "./jobs/fetches.ts";
import { hear } from "./jobs/hear.ts";
import { HttpReports } from "./jobs/http-reports.ts";
import { QueueLoop } from "./jobs/queue-loop.ts";
import { Reports } from "./jobs/reports.ts";
import { Scheduler } from "./jobs/scheduler.ts";
import { type EngineCounters, type EngineOptions, newCounters } from "./ports.ts";
import type { RunState } from "./run/run-state.ts";
import { Runs } from "./runs.ts";

/** An agent that has just become ready is given nothing for this long. */
const NEWCOMER_REST_MS = 50;
/** A plain gateway gives nothing to who was silent for longer, as the reference's router. */
const MAX_SILENT_BEATS = 2;

/**
 * The engine: takes events in, gives work to agents, decides on what they report. All truth is in the store; what is kept
 * here may be lost at any moment.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #counters: EngineCounters = newCounters();
  readonly #functions: Functions;
  #reading: Reading | null = null;
  readonly #runs: Runs;
  readonly #agents: Agents;
  readonly #dispatches: Dispatches;
  readonly #decider: Decider;
  readonly #proofs = new Proofs();
  readonly #ownership: Ownership;
  readonly #time: DatabaseTime;
  readonly #reports: Reports;
  /** What agents report by HTTP. */
  readonly byHttp: HttpReports;
  readonly #leases: Leases;
  readonly #stalls: Stalls;
  readonly #presence: Presence;
  readonly #intake: Intake;
  readonly #loop: QueueLoop;
  readonly #fanOut: FanOut;
  readonly #fetches: Fetches;
  readonly #scheduler: Scheduler;
  #draining = false;
  #stopWaking: (() => void) | null = null;

  constructor(options: EngineOptions) {
    const { store, log, clock, random } = options;
    this.#options = options;
    const counters = this.#counters;
    const runs = new Runs(store);
    const agents = new Agents(options.chooseSlot, options.settings.plain ? MAX_SILENT_BEATS : undefined);
    const expressions = new Expressions(log);
    const newId = createUlidFactory(clock, random);
    const time = new DatabaseTime(clock);
    const proofs = this.#proofs;
    const nowMs = (): number => time.nowMs();
    const functions = new Functions({ store, log, expressions, random, newId, nowMs });
    const tellingLease = (): NewJob["lease"] =>
      this.#draining ? null : { gatewayId: options.settings.gatewayId, leaseMs: TELLING_LEASE_MS };
    const decider = new Decider(
      options,
      { runs, agents, functions, expressions, counters, time },
      {
        mayLease: () => !this.#draining,
        tellingLease,
        intake: () => this.#intake,
        removed: (jobIds) => {
          if (!stopJobs(dispatches, jobIds)) store.notify({ type: "removed", jobIds });
        },
        childEnded: (runId, jobId) => this.#fanOut.take({ kind: "child", key: runId }, { jobId, epoch: 1 }),
        born: (jobs, state) => {
          for (const { job, slot } of jobs) dispatches.start(job, 1, slot, state);
        },
        queued: (functionId, dueInMs) => {
          if (dueInMs <= 0 && functions.get(functionId)) this.#loop.noteBacklog(functionId);
          this.#loop.wake(dueInMs);
        },
        ended: (state, others) => this.#runEnded(state, others),
        freed: (functionId) => this.#placesFreed(functionId),
      },
    );
    const dispatches = new Dispatches(
      options,
      { runs, agents, functions, counters, proofs },
      {
        nowMs,
        onFreed: () => this.#loop.wakeIfBacklogged(),
        onReleased: () => this.#loop.wake(),
        onTooLarge: (job, bytes) => failed.tooLarge(job, bytes),
        onUnacknowledged: (dispatch) => failed.add(dispatch, "connect_worker_stopped_responding"),
      },
    );
    const ownership = new Ownership({ proofs, dispatches, counters, log });
    const failed = new FailedAttempts(options, decider);
    const fanOut = new FanOut(options, { runs, decider, expressions, time });
    const fetches = new Fetches(options, { runs, decider, onRoom: () => this.#loop.wake() });
    this.#fanOut = fanOut;
    this.#fetches = fetches;
    const mayLease = (functionId: string): boolean => !this.#draining && !this.#loop.hasBacklog(functionId);
    const starter = new Starter(options, { agents, time, expressions, mayLease });
    const common = { runs, agents, functions, dispatches, decider, failed, fanOut, fetches, starter, counters, time };
    this.#intake = new Intake(options, common, {
      onQueued: (functionId) => {
        this.#loop.noteBacklog(functionId);
        this.#loop.wake();
      },
      tellingLease,
      onAwaited: (event) => this.#fanOut.take({ kind: "event", key: event.id, event }, { jobId: event.id, epoch: 1 }),
    });
    this.#scheduler = new Scheduler(options, { ...common, intake: this.#intake, newId });
    const parts = { ...common, ownership, scheduler: this.#scheduler };
    this.#functions = functions;
    this.#runs = runs;
    this.#agents = agents;
    this.#dispatches = dispatches;
    this.#decider = decider;
    this.#ownership = ownership;
    this.#time = time;
    this.#reports = new Reports(options, parts);
    this.byHttp = new HttpReports(this.#reports, ownership);
    this.#stalls = new Stalls(options, runs, counters);
    this.#leases = new Leases(options, parts);
    this.#presence = new Presence(options, agents, dispatches);
    this.#loop = new QueueLoop(options, parts);
  }

  /** As strict as the reference's. */
  get isPlain(): boolean {
    return this.#options.settings.plain;
  }

  get functions(): Functions {
    return this.#functions;
  }

  async start(): Promise<void> {
    await this.#proofs.open(this.#options.store);
    const reading = new Reading(this.#options, this.#functions);
    this.#reading = reading;
    await this.#functions.load();
    this.#time.observe(await this.#options.store.nowMs());
    this.#stopWaking = this.#options.store.onWake((wake) => {
      hear(wake, {
        runs: this.#runs,
        agents: this.#agents,
        dispatches: this.#dispatches,
        loop: this.#loop,
        reload: () => void reading.now(),
      });
    });
    reading.start();
    this.#loop.wake();
  }

  /** One look into the queue; what the loop does by itself. Returns how many jobs were taken. */
  tick(): Promise<number> {
    return this.#loop.tick();
  }

  /** Stores the apps that an agent brought, before it may take work. */
  async register(apps: readonly AppRecord[]): Promise<void> {
    await this.#proofs.open(this.#options.store);
    await this.#functions.save(apps);
  }

  /** Says that the apps which are connected here still are; call it every quarter of a minute or so. */
  touchApps(): Promise<void> {
    return this.#functions.touch([...this.#agents.all()].flatMap(({ session }) => session.apps));
  }

  /** An agent is there; with `open` it takes work. */
  attach(session: AgentSession, open: boolean): AttachedAgent {
    const slot = this.#agents.add(session, open);
    // What it has from before it says first: its lease extensions are to be in the store before we look for work for it.
    slot.restUntilMs = this.#options.clock.monotonicMs() + NEWCOMER_REST_MS;
    if (open) this.#came(session);
    return {
      receive: (frame) => this.#receive(slot, frame),
      pause: (said = false) => this.#dispatches.paused(slot, said),
      resume: () => {
        slot.restUntilMs = this.#options.clock.monotonicMs() + NEWCOMER_REST_MS;
        this.#agents.reopen(slot);
        this.#came(session);
      },
      hasRoom: () => this.#loop.wakeIfBacklogged(),
      lost: (final = false) => this.#presence.lost(slot, final),
    };
  }

  /**
   * Stores events and starts the runs they trigger.
   * @throws HoldfastError `EVENT_INVALID`, `STORE_FAILED`
   */
  sendEvents(events: readonly RawEvent[], how: SendOptions = {}): Promise<string[]> {
    return this.#intake.send(events, how);
  }

  /** Ends a run. `nothing`: it had ended already. */
  cancel(runId: string, reason: string): Promise<DecideOutcome> {
    return this.#decide(runId, { type: "cancel", reason });
  }

  /** Makes a failed run try again what it could not undo. `nothing`: there is nothing of the kind. */
  retryCompensations(runId: string): Promise<DecideOutcome> {
    return this.#decide(runId, { type: "revive" });
  }

  async #decide(runId: string, input: Input): Promise<DecideOutcome> {
    this.#runs.retain(runId);
    try {
      return await this.#decider.run(runId, input, null);
    } finally {
      this.#runs.release(runId);
    }
  }

  /** Gives a signal to the step of this environment that waits for it; null when none does. */
  signal(environment: string, name: string, dataJson: string): Promise<{ readonly runId: string } | null> {
    return this.#fanOut.signal(environment, name, dataJson);
  }

  status(): EngineStatus {
    return {
      ...this.#counters,
      agents: this.#agents.size,
      inFlight: this.#dispatches.size,
      runsInMemory: this.#runs.size,
    };
  }

  /** It is `nowMs` now, whatever it was a moment ago: what is due by then is looked for at once. */
  timeMoved(nowMs: number): void {
    this.#time.observe(nowMs);
    this.#loop.wake();
  }

  /** No new work is given out; reports are still taken. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#reading?.stop();
    await this.#loop.stop();
  }

  /** Resolves when agents whose socket is gone have had the time to go on with their work at another gateway. */
  settled(): Promise<void> {
    return this.#presence.settled();
  }

  /**
   * Stops, and hands back what agents still have, so that other gateways take it at once. What an agent is known to have
   * taken elsewhere keeps its lease: it is told of there.
   */
  async stop(): Promise<void> {
    await this.drain();
    this.#stopWaking?.();
    await Promise.all([this.#fanOut.stop(), this.#fetches.stop(), this.#scheduler.stop()]);
    this.#presence.stop();
    this.#dispatches.stop();
    const left = [...this.#dispatches.all()];
    const heldBy = this.#options.settings.gatewayId;
    const here = left.filter(({ elsewhere }) => !elsewhere);
    const releases = here.map(({ fence }) => ({ ...fence, lost: false, heldBy }));
    for (const dispatch of left) this.#dispatches.finish(dispatch);
    if (releases.length === 0) return;
    await this.#options.store.releaseLeases(releases).catch((error: unknown) => {
      this.#options.log(
        levelFor(error, "warn"),
        `${releases.length} lease(s) could not be released: ${messageOf(error)}`,
      );
    });
  }

  /** What waits for its version is asked for; so is what no agent has had yet, for which it may be the newest. */
  #came({ functionIds }: AgentSession): void {
    this.#loop.noteHeld(functionIds);
    this.#loop.review(functionIds);
    this.#loop.wake(NEWCOMER_REST_MS);
  }

  /** An agent that had these functions is gone, and no longer listed: another version of them may be the newest now. */
  agentGone(functionIds: readonly string[]): void {
    this.#loop.review(functionIds);
    this.#options.store.notify({ type: "unplaced", functionIds });
  }

  #receive(slot: Slot, frame: EngineFrame): void {
    switch (frame.kind) {
      case "WORKER_REQUEST_ACK": {
        const dispatch = this.#dispatches.get(frame.requestId);
        if (!dispatch) return;
        if (slot.appIds.has(dispatch.appId)) this.#dispatches.heard(dispatch, slot);
        else this.#ownership.refused(slot, "An acknowledgement", frame);
        return;
      }
      case "WORKER_REPLY":
        return this.#reports.replied(slot, frame);
      case "WORKER_CHECKPOINT":
        return this.#reports.checkpointed(slot, frame);
      case "WORKER_REQUEST_EXTEND_LEASE":
        return this.#leases.extend(slot, frame);
      case "WORKER_REQUEST_NACK":
        return this.#reports.nacked(slot, frame);
      case "WORKER_STALL":
        return this.#stalls.told(slot, frame);
      case "WORKER_STATUS":
        return;
      default:
        return unreachable(frame);
    }
  }

  #placesFreed(functionId: string): void {
    this.#loop.wake();
    this.#options.store.notify({ type: "jobs", functionIds: [functionId] });
  }

  #runEnded(state: RunState, others: boolean): void {
    this.#counters.runsEnded += 1;
    this.#runs.forget(state.runId);
    const { runId, status } = state;
    stopWork(this.#dispatches, this.#dispatches.ofRun(runId), `The run is ${status.toLowerCase()}.`);
    if (others) this.#options.store.notify({ type: "ended", runIds: [state.runId] });
  }
}
