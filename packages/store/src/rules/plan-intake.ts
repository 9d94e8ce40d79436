/** The part of a batch's plan that is about events and the runs they start. */
import {
  type CronTick,
  cronKey,
  type IntakeItem,
  type IntakeRun,
  type IntakeSource,
  type NewWait,
  type SkippedBy,
} from "../port/events.ts";
import type { LogRow, NewJob, NewRun, RunStatus } from "../port/work.ts";
import { factKeyOf } from "./fact-key.ts";
import { eventKeyOf, type FlowRules, joinWindow, passFlowRules, takeWindow } from "./flow-rules.ts";
import type { LockedRows } from "./locked-rows.ts";
import type { UnitResult } from "./unit-result.ts";
import type { WaitKey, WriteSet } from "./write-set.ts";

/** What was found, as it is after the units so far. */
export interface Scene {
  readonly found: LockedRows;
  readonly writes: WriteSet;
  readonly signals: Map<string, WaitKey>;
  readonly flowRules: FlowRules;
  /** Events of units that were decided on a registry of before. */
  readonly outdated: Set<string>;
  /** By run: the one fact that the batch writes, or the keys of all of them. */
  readonly written: Map<string, LogRow | Set<string>>;
}

type IntakeResult = Extract<UnitResult, { event: string }>;

const NOTHING: readonly never[] = [];

export function planIntake(item: IntakeItem, scene: Scene): IntakeResult {
  const { found, writes } = scene;
  const { event } = item;
  const awaited = found.awaited.has(event.name) && !item.storedEvents;
  const result: IntakeResult = {
    event: event.id,
    logIndex: null,
    duplicate: false,
    awaited,
    skipped: [],
    skippedWindows: 0,
    skippedBy: NOTHING,
    lost: false,
    outdated: false,
  };
  if (item.ifAwaited && !awaited) return result;
  if (event.idempotencyKey) {
    const holder = found.eventKeys.get(eventKeyOf(event.name, event.idempotencyKey));
    if (holder !== undefined && holder !== event.id) {
      // The event that holds the key in this batch may not be stored.
      if (scene.outdated.has(holder)) return outdated(result, item, scene);
      return { ...result, event: holder, duplicate: true, awaited: false };
    }
  }
  if (mayRepeat(item) && found.knownEvents.has(event.id)) return { ...result, duplicate: true, awaited: false };
  const { registryVersion } = item;
  if (registryVersion !== undefined && registryVersion !== found.registryVersion) return outdated(result, item, scene);
  if (item.source && !takeSource(item.source, scene, item.resent ?? false))
    return { ...result, awaited: false, lost: true };
  const { made, skipped, reasons } = passRuns(item.runs, scene);
  const runIds = made.map(({ run }) => run.id);
  const joined = joinWindows(item, scene);
  const skippedBy = joined.length === 0 ? reasons : [...reasons, ...joined];
  const skippedWindows = joined.length;
  if (item.ifStarts && made.length === 0 && skippedWindows === (item.windows ?? []).length) {
    freeKey(item, scene);
    return { ...result, awaited: false, skipped, skippedWindows, skippedBy };
  }
  if (item.storedEvents) for (const runId of runIds) writes.links.push({ eventIds: item.storedEvents, runId });
  else writes.events.push({ event, runIds });
  const firstLog = writes.logs.length;
  for (const { run, log, jobs, waits = [] } of made) {
    const status = create(run, jobs, waits, writes);
    const inserted = newFacts(run.id, log, scene);
    const facts = inserted.includes(false) ? log.filter((_, index) => inserted[index]) : log;
    if (facts.length > 0) writes.logs.push({ runId: run.id, facts, version: 1, status });
  }
  const logIndex = writes.logs.length > firstLog ? firstLog : null;
  if (awaited) writes.jobs.push(eventJob(event.id, item.lease ?? null));
  return { ...result, logIndex, skipped, skippedWindows, skippedBy };
}

export const mayRepeat = ({ mayRepeat: may, resent }: IntakeItem): boolean => may === true && !resent;

/** Nothing is written of it, and no other event is rejected for its key. */
function outdated(result: IntakeResult, item: IntakeItem, scene: Scene): IntakeResult {
  freeKey(item, scene);
  return { ...result, awaited: false, outdated: true };
}

/** Of an event that is not stored. Later ones of the batch with the same key are to be sent again. */
function freeKey({ event: { id, name, idempotencyKey: key } }: IntakeItem, scene: Scene): void {
  scene.outdated.add(id);
  if (key) scene.writes.freeKeys.push({ name, key, eventId: id });
}

interface PassedRuns {
  readonly made: readonly IntakeRun[];
  /** Ids of the others, and why each of them is not made. */
  readonly skipped: readonly string[];
  readonly reasons: readonly SkippedBy[];
}

/** Which runs of an event are made. */
function passRuns(runs: readonly IntakeRun[], scene: Scene): PassedRuns {
  if (!runs.some(({ flowRules }) => flowRules)) return { made: runs, skipped: NOTHING, reasons: NOTHING };
  const reasons = runs.map((run) => whySkipped(run, scene));
  return {
    made: runs.filter((_, index) => !reasons[index]),
    skipped: runs.flatMap(({ run }, index) => (reasons[index] ? [run.id] : [])),
    reasons: reasons.filter((reason) => reason !== null),
  };
}

/** Null: the run is made. */
function whySkipped({ run, flowRules = [] }: IntakeRun, { flowRules: states, found, writes }: Scene): SkippedBy | null {
  if (flowRules.length === 0) return null;
  const { skippedBy, jobs } = passFlowRules(states, flowRules, run.id, found.atMs);
  writes.jobs.push(...jobs);
  return skippedBy;
}

/** Why the event may not join the windows that it may not join. */
function joinWindows({ event, windows = [] }: IntakeItem, { flowRules, found, writes }: Scene): readonly SkippedBy[] {
  if (windows.length === 0) return NOTHING;
  const skippedBy: SkippedBy[] = [];
  for (const entry of windows) {
    const { skippedBy: reason } = passFlowRules(flowRules, entry.flowRules, "", found.atMs);
    if (reason) skippedBy.push(reason);
    else
      writes.jobs.push(...joinWindow(flowRules, entry, { id: event.id, length: event.payloadJson.length }, found.atMs));
  }
  return skippedBy;
}

/** The job that an intake comes from, if it is still its own, ends with it. */
function takeSource(
  { fence, window, cron }: IntakeSource,
  { found, writes, flowRules }: Scene,
  resent: boolean,
): boolean {
  const job = found.jobs.get(fence.jobId);
  if (job?.runId !== "" || writes.removeJobs.includes(fence.jobId)) return false;
  if (resent ? job.epoch > fence.epoch : job.epoch !== fence.epoch) return false;
  if (window && !takeWindow(flowRules, window, found.atMs)) return false;
  writes.removeJobs.push(fence.jobId);
  if (cron) {
    writes.crons.push(cron);
    if (cron.next) writes.jobs.push(cronJob(cron.functionId, cron.cron, cron.next));
  }
  return true;
}

function cronJob(functionId: string, cron: string, next: NonNullable<CronTick["next"]>): NewJob {
  const numbers = { attempt: 0, iteration: 0, notBeforeMs: next.dueMs };
  return { id: next.jobId, runId: "", kind: "cron", key: cronKey(functionId, cron), functionId: "", ...numbers };
}

function eventJob(eventId: string, lease: NonNullable<NewJob["lease"]> | null): NewJob {
  const numbers = { attempt: 0, iteration: 0 };
  return { id: eventId, runId: "", kind: "event", key: eventId, functionId: "", ...numbers, lease };
}

/** Everything of a new run but its log. Returns its status. */
export function create(run: NewRun, jobs: readonly NewJob[], waits: readonly NewWait[], writes: WriteSet): RunStatus {
  const status = jobs.some((job) => job.lease) ? "RUNNING" : "PENDING";
  writes.runs.push({ run, status });
  writes.jobs.push(...jobs);
  writes.waits.push(...waits);
  return status;
}

/** For each fact whether it is new: neither in the log nor written by the batch so far. They are, from now on. */
export function newFacts(runId: string, facts: readonly LogRow[], { found, written }: Scene): readonly boolean[] {
  const before = written.get(runId);
  const [first] = facts;
  // A step by itself, as most are: nothing of the batch has to be compared with it.
  if (!before && first && facts.length === 1) {
    written.set(runId, first);
    return found.facts.size > 0 && found.facts.has(factKeyOf(runId, first)) ? KNOWN : NEW;
  }
  const ofBatch = before instanceof Set ? before : new Set(before ? [factKeyOf(runId, before)] : []);
  written.set(runId, ofBatch);
  return facts.map((fact) => {
    const key = factKeyOf(runId, fact);
    if (found.facts.has(key) || ofBatch.has(key)) return false;
    ofBatch.add(key);
    return true;
  });
}

const NEW: readonly boolean[] = [true];
const KNOWN: readonly boolean[] = [false];
