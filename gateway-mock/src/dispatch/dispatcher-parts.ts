/**
 * Builds the dispatcher's parts in the order in which they depend on each other, so that no part needs one that is made
 * after it.
 */

import { createUlidFactory, type Log } from "@holdfast/core";
import { Expressions } from "@holdfast/engine";
import { Admission } from "./admission/admission.ts";
import { Backlog } from "./admission/backlog.ts";
import { DatabaseTime } from "./database-time.ts";
import type { DispatcherEffect, Emit } from "./dispatcher-effects.ts";
import { EventIntake } from "./events/event-intake.ts";
import { Invocations } from "./events/invocations.ts";
import { Starter } from "./events/starter.ts";
import { FunctionCounts } from "./function-counts.ts";
import { Snapshots } from "./graphs/snapshots.ts";
import { LostCommits } from "./lost-commits.ts";
import { Notices } from "./notices.ts";
import { type DispatcherCounters, type DispatcherOptions, newCounters } from "./ports.ts";
import { EarlierEvents } from "./queue/earlier-events.ts";
import { FailedAttempts } from "./queue/failed-attempts.ts";
import { Fetches } from "./queue/fetches.ts";
import { HttpReports } from "./queue/http-reports.ts";
import { LimitsInUse } from "./queue/limits-in-use.ts";
import { Orphans } from "./queue/orphans.ts";
import { QueueLoop } from "./queue/queue-loop.ts";
import { RunUpdater } from "./queue/run-updater.ts";
import { Scheduler } from "./queue/scheduler.ts";
import { VersionHolds } from "./queue/version-holds.ts";
import { NOTIFY_LEASE_MS, WaitNotifier } from "./queue/wait-notifier.ts";
import { WaitingRuns } from "./queue/waiting-runs.ts";
import { WorkerReplies } from "./queue/worker-replies.ts";
import { ControlCommands } from "./registry/control-commands.ts";
import { Functions } from "./registry/functions.ts";
import { LaneAdoptions } from "./registry/lane-adoptions.ts";
import { BulkJobs } from "./repair/bulk-jobs.ts";
import { Repairs } from "./repair/repairs.ts";
import { RunCache } from "./run-cache.ts";
import { RunEnds } from "./run-ends.ts";
import { Spans } from "./spans.ts";
import { WorkerConditions } from "./workers/conditions.ts";
import type { WorkerSession } from "./workers/connected-worker.ts";
import { Dispatches } from "./workers/dispatches.ts";
import { LeaseProofs } from "./workers/lease-proofs.ts";
import { Leases } from "./workers/leases.ts";
import { Ownership } from "./workers/ownership.ts";
import { Presence } from "./workers/presence.ts";
import { RequestsInFlight } from "./workers/requests-in-flight.ts";
import { Stalls } from "./workers/stalls.ts";
import { WorkerStates } from "./workers/worker-states.ts";
import { Workers } from "./workers/workers.ts";

/** A plain gateway gives nothing to who was silent for longer, as the reference's router. */
const MAX_SILENT_BEATS = 2;

export interface DispatcherParts {
  readonly counters: DispatcherCounters;
  readonly functionCounts: FunctionCounts;
  readonly proofs: LeaseProofs;
  readonly time: DatabaseTime;
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly admission: Admission;
  readonly backlog: Backlog;
  readonly functions: Functions;
  readonly adoptions: LaneAdoptions;
  readonly controlCommands: ControlCommands;
  readonly starter: Starter;
  readonly intake: EventIntake;
  readonly invocations: Invocations;
  readonly updater: RunUpdater;
  readonly dispatches: Dispatches;
  readonly ownership: Ownership;
  readonly failed: FailedAttempts;
  readonly waitNotifier: WaitNotifier;
  readonly earlierEvents: EarlierEvents;
  readonly fetches: Fetches;
  readonly scheduler: Scheduler;
  readonly replies: WorkerReplies;
  readonly httpReports: HttpReports;
  readonly stalls: Stalls;
  readonly states: WorkerStates;
  readonly conditions: WorkerConditions;
  readonly leases: Leases;
  readonly presence: Presence;
  readonly requests: RequestsInFlight;
  readonly loop: QueueLoop;
  readonly waitingRuns: WaitingRuns;
  readonly limitsInUse: LimitsInUse;
  readonly orphans: Orphans;
  readonly repairs: Repairs;
  readonly ends: RunEnds;
  readonly bulkJobs: BulkJobs;
  readonly lostCommits: LostCommits;
}

/**
 * Makes the parts of an engine, each of those above it: none knows one that is made later. What is to happen there it
 * emits, and the engine carries it out.
 */
export function createDispatcherParts(given: DispatcherOptions, emit: Emit<DispatcherEffect>): DispatcherParts {
  const { store, clock, random, settings } = given;
  const counters = newCounters();
  const proofs = new LeaseProofs();
  const time = new DatabaseTime(clock);
  const functionCounts = new FunctionCounts();
  const spans = new Spans(given.spans);
  const notices = new Notices(given.onNotice, spans);
  const runs = new RunCache(store, time, { counts: functionCounts, notices, spans });
  const log = given.spans ? logWithTraces(given.log, (runId) => traceOfRun(runs, spans, runId)) : given.log;
  const options = { ...given, log };
  const expressions = new Expressions(log);
  const newId = createUlidFactory(clock, random);
  const adoptions = new LaneAdoptions({ ...options, emit });
  const functions = new Functions({ ...options, adoptions, expressions, newId, nowMs: () => time.nowMs(), emit });
  const { controls } = functions;
  const queueOf = (functionId: string, version: string) => functions.queueOf(functionId, version);
  const isDrained = ({ environment, instanceId }: WorkerSession) => controls.isDrained(environment, instanceId);
  const workers = new Workers(options.chooseWorker, settings.plain ? MAX_SILENT_BEATS : undefined, queueOf, isDrained);
  const versionHolds = new VersionHolds(store, workers);
  const backlog = new Backlog(versionHolds);
  const { gatewayId, versionPolicy } = settings;
  const admission = new Admission({
    clock,
    versionPolicy,
    workers,
    backlog,
    queueOf,
    isPaused: (id) => controls.pauseOf(id) !== null,
    hasNewLimits: (id) => adoptions.isUnderWay(id),
  });
  const notifyLease = () => (admission.isDraining ? null : { gatewayId, leaseMs: NOTIFY_LEASE_MS });
  const shared = { notices, spans, counters, proofs, time, runs, workers, expressions, functions };
  const snapshots = new Snapshots(store);
  const base = { ...shared, versionHolds, backlog, admission, notifyLease, newId, snapshots };

  const starter = new Starter(options, base);
  const intake = new EventIntake(options, { ...base, starter }, emit);
  const updater = new RunUpdater(options, { ...base, intake }, emit);
  const dispatches = new Dispatches(options, base, emit);
  const ownership = new Ownership({ proofs, dispatches, counters, log });
  const failed = new FailedAttempts(options, updater);
  const parts = { ...base, starter, intake, updater, dispatches, ownership, failed };

  const earlierEvents = new EarlierEvents(options, parts);
  const waitNotifier = new WaitNotifier(options, { ...parts, earlierEvents });
  const fetches = new Fetches(options, parts, emit);
  const scheduler = new Scheduler(options, parts);
  const replies = new WorkerReplies(options, parts, emit);
  const stalls = new Stalls(options, runs, counters);
  const waitingRuns = new WaitingRuns(options, { ...parts, stalls });
  const states = new WorkerStates(workers, clock);
  const repairs = new Repairs(options, parts);
  const bulkJobs = new BulkJobs(options, { ...parts, repairs }, emit);
  return {
    ...parts,
    adoptions,
    functionCounts,
    lostCommits: new LostCommits(options, parts),
    invocations: new Invocations(options, { ...base, starter, intake }),
    waitNotifier: waitNotifier,
    earlierEvents,
    fetches,
    scheduler,
    replies,
    httpReports: new HttpReports(replies, ownership),
    stalls,
    states,
    conditions: new WorkerConditions({ workers, stalls, states, clock }),
    leases: new Leases(options, parts),
    presence: new Presence(options, workers, dispatches),
    requests: new RequestsInFlight(dispatches),
    controlCommands: new ControlCommands({ store, functions, log }),
    ends: new RunEnds({ store, log, clock, timers: options.timers, maxWaiting: settings.maxWaiting }),
    waitingRuns,
    limitsInUse: new LimitsInUse(store, parts),
    orphans: new Orphans({ store, waitingRuns, log }),
    repairs,
    bulkJobs,
    loop: new QueueLoop(options, { ...parts, waitNotifier: waitNotifier, earlierEvents, fetches, scheduler, bulkJobs }),
  };
}

/** Of a run that this gateway is busy with. */
function traceOfRun(runs: RunCache, spans: Spans, runId: string): string | undefined {
  const state = runs.peek(runId);
  return state ? spans.traceIdOf(state) : undefined;
}

/** Lines that name a run say which trace it belongs to. */
function logWithTraces(log: Log, traceOf: (runId: string) => string | undefined): Log {
  return (level, message, data) => {
    const runId = data?.runId;
    const traceId = typeof runId === "string" ? traceOf(runId) : undefined;
    return log(level, message, traceId === undefined ? data : { ...data, traceId });
  };
}
