/**
 * Plans a batch: which units win, and everything that is written for them, as one pure function of the locked rows
 * (BATCH-1 to BATCH-10).
 */
import { EVENT_KEY_MS, type IntakeItem, type IntakeOutcome, type NewWait } from "../port/events.ts";
import type { CommitOutcome, LostWhy, Transition } from "../port/store.ts";
import type { Fence, LogRow, RunStatus } from "../port/work.ts";
import { eventKeyOf, type FlowRuleKey, flowRuleKeyOf, keyOfFlowRule } from "./flow-rules.ts";
import type { LockedJob, LockedRows } from "./locked-rows.ts";
import { create, mayRepeat, newFacts, planIntake, type Scene } from "./plan-intake.ts";
import type { UnitResult } from "./unit-result.ts";
import type { LogWrite, WaitKey, WriteSet } from "./write-set.ts";

/** What is queued for a commit. One unit wins, loses and fails as a whole. */
export type Unit =
  | { readonly type: "transition"; readonly transition: Transition }
  | { readonly type: "intake"; readonly item: IntakeItem };

export type UnitOutcome =
  | { readonly type: "transition"; readonly outcome: CommitOutcome }
  | { readonly type: "intake"; readonly outcome: IntakeOutcome };

export interface BatchPlan {
  readonly results: readonly UnitResult[];
  readonly writes: WriteSet;
}

/** An id that a sender gave, for an event that is to have it. */
export interface WantedKey {
  readonly name: string;
  readonly key: string;
  readonly eventId: string;
  readonly keptMs: number;
}

/** What the first half has to lock and look up. */
export interface Needs {
  readonly jobIds: string[];
  readonly jobsOfRuns: string[];
  /** Of these only the pass: a write that adds facts without a look at the head holds it, as the job of its fence. */
  readonly passesOfRuns: string[];
  readonly runIds: string[];
  readonly eventKeys: readonly WantedKey[];
  /** Ids of events that may be stored already. */
  readonly repeatedEvents: string[];
  readonly eventNames: string[];
  readonly signals: string[];
  readonly flowRules: readonly FlowRuleKey[];
  /** What the batch adds to the logs of runs that are there. */
  readonly additions: readonly LogAddition[];
  /** Of the registry, on which the units were decided. */
  readonly registryVersions: readonly number[];
}

/** Facts for the log of a run. Those that it has already may only be in rows after `seen`. */
export interface LogAddition {
  readonly runId: string;
  readonly seen: number;
  readonly facts: readonly LogRow[];
}

export const isEnded = (status: RunStatus): boolean =>
  status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";

/** Sorted and without repeats: all transactions take locks in one order. */
export function needsOf(units: readonly Unit[]): Needs {
  const jobIds = new Set<string>();
  const jobsOfRuns = new Set<string>();
  const passesOfRuns = new Set<string>();
  const runIds = new Set<string>();
  const eventKeys = new Map<string, WantedKey>();
  const repeatedEvents = new Set<string>();
  const eventNames = new Set<string>();
  const signals = new Set<string>();
  const flowRules = new Map<string, FlowRuleKey>();
  const additions: LogAddition[] = [];
  const registryVersions = new Set<number>();
  for (const unit of units) {
    const { registryVersion } = unit.type === "intake" ? unit.item : unit.transition;
    if (registryVersion !== undefined) registryVersions.add(registryVersion);
    for (const item of itemsOf(unit)) for (const key of flowRulesOf(item)) flowRules.set(flowRuleKeyOf(key), key);
    if (unit.type === "intake") {
      const { id, name, idempotencyKey: key, keyKeptMs: keptMs = EVENT_KEY_MS } = unit.item.event;
      if (unit.item.source) jobIds.add(unit.item.source.fence.jobId);
      eventNames.add(name);
      if (mayRepeat(unit.item)) repeatedEvents.add(id);
      if (key && !eventKeys.has(eventKeyOf(name, key)))
        eventKeys.set(eventKeyOf(name, key), { name, key, eventId: id, keptMs });
      continue;
    }
    const { fence, cas, create, runId, log, seen = 0, removeJobs, endsJobs = NOTHING } = unit.transition;
    const { events = NOTHING, addWaits = NOTHING } = unit.transition;
    for (const { event } of events) eventNames.add(event.name);
    for (const wait of addWaits) if (wait.kind === "signal") signals.add(wait.name);
    if (fence) jobIds.add(fence.jobId);
    // Of any two who write to one log both hold its head, or both hold its pass.
    if (cas !== null || create || !fence) runIds.add(runId);
    if (!create && log.length > 0) additions.push({ runId, seen, facts: log });
    if (removeJobs === "all") jobsOfRuns.add(runId);
    else for (const id of removeJobs) jobIds.add(id);
    for (const id of endsJobs) jobIds.add(id);
    if (cas !== null && removeJobs !== "all") passesOfRuns.add(runId);
  }
  return {
    jobIds: [...jobIds].sort(),
    jobsOfRuns: [...jobsOfRuns].sort(),
    passesOfRuns: [...passesOfRuns].sort(),
    runIds: [...runIds].sort(),
    eventKeys: [...eventKeys.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value),
    repeatedEvents: [...repeatedEvents],
    eventNames: [...eventNames],
    signals: [...signals].sort(),
    flowRules: [...flowRules.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key),
    additions,
    registryVersions: [...registryVersions],
  };
}

function itemsOf(unit: Unit): readonly IntakeItem[] {
  return unit.type === "intake" ? [unit.item] : (unit.transition.events ?? NOTHING);
}

function flowRulesOf({ runs, windows = NOTHING, source }: IntakeItem): readonly FlowRuleKey[] {
  if (windows.length === 0 && !source && !runs.some(({ flowRules }) => flowRules)) return NOTHING;
  const keys: FlowRuleKey[] = runs.flatMap((run) => (run.flowRules ?? []).map(keyOfFlowRule));
  for (const entry of windows) keys.push(entry, ...entry.flowRules.map(keyOfFlowRule));
  if (source?.window) keys.push(source.window);
  return keys;
}

/**
 * Decides which units win, and what they write. Pure: everything it looks at is locked by the transaction.
 *
 * BATCH-1. A fence holds only when its job is there, of the same run, and has the same epoch.
 * BATCH-2. A version holds only when it is the head's; "live" only when the head has not ended.
 * BATCH-3. A run has at most one unit in a batch that looks at its head (`takeBatch` sees to it), so BATCH-1 and
 *     BATCH-2 hold for all units at once and not only for the first.
 * BATCH-4. A unit that loses writes nothing.
 * BATCH-5. Of several events with one key the one that holds the key writes; the others report it.
 * BATCH-6. A signal has at most one who waits for it; who takes a place takes it whole.
 * BATCH-7. An event for which runs wait is always stored with the job that notifies them.
 * BATCH-8. A "live" unit none of whose rows is new changes nothing: a head changes only together with the log.
 * BATCH-9. A unit that was decided on the registry wins only on the registry as it is; an event key that it held is
 *     free again.
 * BATCH-10. A fact that the log has, or that an earlier unit of the batch writes, is not written again.
 * BATCH-11. For what is sent again a fence also holds when the job has a lower epoch: a database that has forgotten a write
 *     has forgotten the claims before it, too. A higher epoch is of a claim since then.
 */
export function planBatch(units: readonly Unit[], found: LockedRows): BatchPlan {
  const writes: WriteSet = {
    events: [],
    runs: [],
    logs: [],
    heads: [],
    removeJobs: [],
    removeJobsOfRuns: [],
    jobs: [],
    removeWaits: [],
    removeWaitsOfRuns: [],
    waits: [],
    flowRules: [],
    crons: [],
    links: [],
    freeKeys: [],
  };
  const scene: Scene = {
    found,
    writes,
    signals: new Map(found.signals),
    flowRules: new Map(found.flowRules),
    outdated: new Set(),
    written: new Map(),
  };
  const results = units.map((unit) =>
    unit.type === "intake" ? planIntake(unit.item, scene) : planTransition(unit.transition, scene),
  );
  for (const flowRule of scene.flowRules.values()) if (flowRule.changed) writes.flowRules.push(flowRule);
  return { results, writes };
}

function planTransition(transition: Transition, scene: Scene): UnitResult {
  const { found, signals, writes } = scene;
  const why = whyLost(transition, found) ?? whySignalTaken(transition, signals) ?? whyOutdated(transition, found);
  if (why) return { won: false, why };
  const { runId, log, head, cas, create: newRun, fence } = transition;
  const { events = NOTHING, addWaits = NOTHING, removeWaits = NOTHING } = transition;
  const inserted = newFacts(runId, log, scene);
  takeSignals(addWaits, signals, writes);
  const facts = inserted.includes(false) ? log.filter((_, index) => inserted[index]) : log;
  if (newRun) {
    const status = create(newRun, transition.addJobs, addWaits, writes);
    const logIndex = addFacts(writes, { runId, facts, version: 1, status });
    return { won: true, version: 1, inserted, logIndex, awaited: awaitedOf(events, scene) };
  }
  const run = cas === null ? undefined : found.runs.get(runId);
  if (!run) {
    const logIndex = addFacts(writes, { runId, facts, version: null, status: null });
    return { won: true, version: null, inserted, logIndex, awaited: awaitedOf(events, scene) };
  }
  if (cas === "live" && !inserted.includes(true)) {
    return { won: true, version: run.version, inserted, logIndex: null, awaited: awaitedOf(events, scene) };
  }
  const version = run.version + 1;
  const status = head?.status ?? run.status;
  const logIndex = addFacts(writes, { runId, facts, version, status });
  writes.heads.push({
    runId,
    version,
    status,
    jobId: fence?.jobId ?? null,
    ended: isEnded(status),
    output: head?.outputJson ?? null,
    error: head?.errorJson ?? null,
    appVersion: head?.appVersion ?? null,
    ...(head?.deadlineMs === undefined ? {} : { deadlineMs: head.deadlineMs }),
  });
  if (transition.removeJobs === "all") writes.removeJobsOfRuns.push(runId);
  else writes.removeJobs.push(...transition.removeJobs);
  if (transition.endsJobs) writes.removeJobs.push(...transition.endsJobs);
  writes.jobs.push(...transition.addJobs);
  if (removeWaits === "all") writes.removeWaitsOfRuns.push(runId);
  else for (const key of removeWaits) writes.removeWaits.push({ runId, key });
  writes.waits.push(...addWaits);
  return { won: true, version, inserted, logIndex, awaited: awaitedOf(events, scene) };
}

/** What most transitions have none of. */
const NOTHING: readonly never[] = [];

/** Where its row is among those that the batch writes; null: nothing of it is new. */
function addFacts({ logs }: WriteSet, write: LogWrite): number | null {
  return write.facts.length === 0 ? null : logs.push(write) - 1;
}

/** Plans the events that happen with a transition. The ids of those that runs wait for. */
function awaitedOf(events: readonly IntakeItem[], scene: Scene): readonly string[] {
  if (events.length === 0) return NOTHING;
  const awaited: string[] = [];
  for (const item of events) {
    const result = planIntake(item, scene);
    if (result.awaited) awaited.push(result.event);
  }
  return awaited;
}

function whySignalTaken({ addWaits = [] }: Transition, signals: ReadonlyMap<string, WaitKey>): LostWhy | undefined {
  const taken = addWaits.some((wait) => {
    const holder = wait.kind === "signal" ? signals.get(wait.name) : undefined;
    return holder !== undefined && wait.conflict !== "replace" && !sameWait(holder, wait);
  });
  return taken ? "signal" : undefined;
}

function whyOutdated({ registryVersion }: Transition, found: LockedRows): LostWhy | undefined {
  return registryVersion === undefined || registryVersion === found.registryVersion ? undefined : "registry";
}

function takeSignals(waits: readonly NewWait[], signals: Map<string, WaitKey>, writes: WriteSet): void {
  for (const wait of waits) {
    if (wait.kind !== "signal") continue;
    const holder = signals.get(wait.name);
    if (holder && !sameWait(holder, wait)) {
      const fresh = writes.waits.findIndex((one) => sameWait(one, holder));
      if (fresh >= 0) writes.waits.splice(fresh, 1);
      else writes.removeWaits.push(holder);
    }
    signals.set(wait.name, wait);
  }
}

const sameWait = (a: WaitKey, b: WaitKey): boolean => a.runId === b.runId && a.key === b.key;

function whyLost(transition: Transition, found: LockedRows): LostWhy | undefined {
  const { fence, cas, create: newRun, runId, revives, resent = false } = transition;
  if (fence) {
    const job = found.jobs.get(fence.jobId);
    if (!job || job.runId !== runId || !isDispatch(job, fence, resent)) return "stale";
  }
  if (newRun) return found.runs.has(newRun.id) ? "exists" : undefined;
  if (cas === null) return resent && !fence && !found.runs.has(runId) ? "gone" : undefined;
  const run = found.runs.get(runId);
  if (!run) return "gone";
  if (isEnded(run.status) && !(revives && run.status !== "COMPLETED")) return "ended";
  return cas === "live" || cas === run.version ? undefined : "version";
}

/** Whether the job, as it was found, is the dispatch of a fence. */
export const isDispatch = ({ epoch }: LockedJob, fence: Fence, resent: boolean): boolean =>
  resent ? epoch <= fence.epoch : epoch === fence.epoch;
