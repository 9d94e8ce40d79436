import type {
  CommitOutcome,
  IntakeItem,
  IntakeOutcome,
  LogRow,
  LostWhy,
  NewEvent,
  NewJob,
  NewRun,
  NewWait,
  RunStatus,
  Transition,
} from "./store.ts";

/** What is queued for a commit. One unit wins, loses and fails as a whole. */
export type Unit =
  | { readonly type: "transition"; readonly transition: Transition }
  | { readonly type: "intake"; readonly item: IntakeItem };

export type UnitOutcome =
  | { readonly type: "transition"; readonly outcome: CommitOutcome }
  | { readonly type: "intake"; readonly outcome: IntakeOutcome };

export interface LockedJob {
  readonly id: string;
  readonly runId: string;
  readonly epoch: number;
  readonly claimedMs: number | null;
}

export interface LockedRun {
  readonly id: string;
  readonly version: number;
  readonly status: RunStatus;
}

/** What the first half of the transaction found, under locks. */
export interface Found {
  readonly jobs: ReadonlyMap<string, LockedJob>;
  readonly runs: ReadonlyMap<string, LockedRun>;
  /** By `eventKeyOf`: the id of the event that holds the key. */
  readonly eventKeys: ReadonlyMap<string, string>;
  /** Those of the batch's event names for which somebody waits. */
  readonly awaited: ReadonlySet<string>;
  /** Who waits for the batch's signals. */
  readonly signals: ReadonlyMap<string, WaitKey>;
  /** The transaction's time. */
  readonly atMs: number;
}

export interface WaitKey {
  readonly runId: string;
  readonly key: string;
}

export interface LogWrite {
  readonly runId: string;
  readonly row: LogRow;
  readonly version: number | null;
  readonly status: RunStatus | null;
}

export interface HeadWrite {
  readonly runId: string;
  readonly version: number;
  readonly status: RunStatus;
  readonly startedMs: number | null;
  readonly ended: boolean;
  readonly output: string | null;
  readonly error: string | null;
  readonly appVersion: string | null;
}

export interface RunWrite {
  readonly run: NewRun;
  readonly status: RunStatus;
}

export interface EventWrite {
  readonly event: NewEvent;
  readonly runIds: readonly string[];
}

/** The second half of the transaction: rows to write, by table. */
export interface WriteSet {
  readonly events: EventWrite[];
  readonly runs: RunWrite[];
  readonly logs: LogWrite[];
  readonly heads: HeadWrite[];
  readonly removeJobs: string[];
  readonly removeJobsOfRuns: string[];
  readonly jobs: NewJob[];
  readonly removeWaits: WaitKey[];
  readonly removeWaitsOfRuns: string[];
  readonly waits: NewWait[];
}

/** What a unit comes to, before it is known which of its log rows were new. */
export type Verdict =
  | { readonly won: false; readonly why: LostWhy }
  | {
      readonly won: true;
      readonly version: number | null;
      readonly firstLog: number;
      readonly logCount: number;
      readonly awaited: readonly string[];
    }
  | { readonly event: string; readonly duplicate: boolean; readonly awaited: boolean };

export interface Plan {
  readonly verdicts: readonly Verdict[];
  readonly writes: WriteSet;
}

/** What the first half has to lock and look up. */
export interface Needs {
  readonly jobIds: string[];
  readonly jobsOfRuns: string[];
  readonly runIds: string[];
  readonly eventKeys: readonly { readonly name: string; readonly key: string; readonly eventId: string }[];
  readonly eventNames: string[];
  readonly signals: string[];
}

export const isEnded = (status: RunStatus): boolean =>
  status === "COMPLETED" || status === "FAILED" || status === "CANCELLED";

export const eventKeyOf = (name: string, key: string): string => `${name}\n${key}`;

/** Sorted and without repeats: locks are taken in one order by everybody. */
export function needsOf(units: readonly Unit[]): Needs {
  const jobIds = new Set<string>();
  const jobsOfRuns = new Set<string>();
  const runIds = new Set<string>();
  const eventKeys = new Map<string, { name: string; key: string; eventId: string }>();
  const eventNames = new Set<string>();
  const signals = new Set<string>();
  for (const unit of units) {
    if (unit.type === "intake") {
      const { id, name, idempotencyKey: key } = unit.item.event;
      eventNames.add(name);
      if (key && !eventKeys.has(eventKeyOf(name, key)))
        eventKeys.set(eventKeyOf(name, key), { name, key, eventId: id });
      continue;
    }
    const { fence, cas, create, runId, removeJobs, events = [], addWaits = [] } = unit.transition;
    for (const { event } of events) eventNames.add(event.name);
    for (const wait of addWaits) if (wait.kind === "signal") signals.add(wait.name);
    if (fence) jobIds.add(fence.jobId);
    if (cas !== null || create) runIds.add(runId);
    if (removeJobs === "all") jobsOfRuns.add(runId);
    else for (const id of removeJobs) jobIds.add(id);
  }
  return {
    jobIds: [...jobIds].sort(),
    jobsOfRuns: [...jobsOfRuns].sort(),
    runIds: [...runIds].sort(),
    eventKeys: [...eventKeys.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value),
    eventNames: [...eventNames],
    signals: [...signals].sort(),
  };
}

/**
 * Decides which units win, and what they write. Pure: everything it looks at is locked by the transaction.
 *
 * B1. A fence holds only when its job is there, of the same run, and has the same epoch.
 * B2. A version holds only when it is the head's; "live" only when the head has not ended.
 * B3. A run has at most one unit in a batch that looks at its head (`takeBatch` sees to it), so B1 and B2 hold for
 *     all units at once and not only for the first.
 * B4. A unit that loses writes nothing.
 * B5. Of several events with one key the one that holds the key writes; the others report it.
 * B6. A signal has at most one who waits for it; who takes a place takes it whole.
 * B7. An event for which somebody waits never comes without the job that tells them.
 */
export function planBatch(units: readonly Unit[], found: Found): Plan {
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
  };
  const signals = new Map(found.signals);
  const verdicts = units.map((unit) =>
    unit.type === "intake"
      ? planIntake(unit.item, found, writes)
      : planTransition(unit.transition, found, signals, writes),
  );
  return { verdicts, writes };
}

function planIntake(item: IntakeItem, found: Found, writes: WriteSet): Extract<Verdict, { event: string }> {
  const { event, runs } = item;
  const awaited = found.awaited.has(event.name);
  if (item.ifAwaited && !awaited) return { event: event.id, duplicate: false, awaited };
  if (event.idempotencyKey) {
    const holder = found.eventKeys.get(eventKeyOf(event.name, event.idempotencyKey));
    if (holder !== undefined && holder !== event.id) return { event: holder, duplicate: true, awaited: false };
  }
  writes.events.push({ event, runIds: runs.map(({ run }) => run.id) });
  for (const { run, log, jobs, waits = [] } of runs) create(run, log, jobs, waits, writes);
  if (awaited) writes.jobs.push(eventJob(event.id, item.lease ?? null));
  return { event: event.id, duplicate: false, awaited };
}

function eventJob(eventId: string, lease: NonNullable<NewJob["lease"]> | null): NewJob {
  const numbers = { attempt: 0, iteration: 0 };
  return { id: eventId, runId: "", kind: "event", key: eventId, functionId: "", ...numbers, lease };
}

function create(
  run: NewRun,
  log: readonly LogRow[],
  jobs: readonly NewJob[],
  waits: readonly NewWait[],
  writes: WriteSet,
): void {
  const status = jobs.some((job) => job.lease) ? "RUNNING" : "PENDING";
  writes.runs.push({ run, status });
  for (const row of log) writes.logs.push({ runId: run.id, row, version: 1, status });
  writes.jobs.push(...jobs);
  writes.waits.push(...waits);
}

function planTransition(
  transition: Transition,
  found: Found,
  signals: Map<string, WaitKey>,
  writes: WriteSet,
): Verdict {
  const why = whyLost(transition, found) ?? whySignalTaken(transition, signals);
  if (why) return { won: false, why };
  const { runId, log, head, cas, create: newRun, fence, events = [], addWaits = [], removeWaits = [] } = transition;
  const firstLog = writes.logs.length;
  const won = (version: number | null): Verdict => {
    const awaited = events.map((item) => planIntake(item, found, writes)).filter((verdict) => verdict.awaited);
    const ids = awaited.map(({ event }) => event);
    return { won: true, version, firstLog, logCount: log.length, awaited: ids };
  };
  takeSignals(addWaits, signals, writes);
  if (newRun) {
    create(newRun, log, transition.addJobs, addWaits, writes);
    return won(1);
  }
  const run = cas === null ? undefined : found.runs.get(runId);
  if (!run) {
    for (const row of log) writes.logs.push({ runId, row, version: null, status: null });
    return won(null);
  }
  const version = run.version + 1;
  const status = head?.status ?? run.status;
  for (const row of log) writes.logs.push({ runId, row, version, status });
  writes.heads.push({
    runId,
    version,
    status,
    startedMs: status === "PENDING" ? null : ((fence && found.jobs.get(fence.jobId)?.claimedMs) ?? found.atMs),
    ended: isEnded(status),
    output: head?.outputJson ?? null,
    error: head?.errorJson ?? null,
    appVersion: head?.appVersion ?? null,
  });
  if (transition.removeJobs === "all") writes.removeJobsOfRuns.push(runId);
  else writes.removeJobs.push(...transition.removeJobs);
  writes.jobs.push(...transition.addJobs);
  if (removeWaits === "all") writes.removeWaitsOfRuns.push(runId);
  else for (const key of removeWaits) writes.removeWaits.push({ runId, key });
  writes.waits.push(...addWaits);
  return won(version);
}

function whySignalTaken({ addWaits = [] }: Transition, signals: ReadonlyMap<string, WaitKey>): LostWhy | undefined {
  const taken = addWaits.some((wait) => {
    const holder = wait.kind === "signal" ? signals.get(wait.name) : undefined;
    return holder !== undefined && wait.conflict !== "replace" && !sameWait(holder, wait);
  });
  return taken ? "signal" : undefined;
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

function whyLost({ fence, cas, create: newRun, runId, revives }: Transition, found: Found): LostWhy | undefined {
  if (fence) {
    const job = found.jobs.get(fence.jobId);
    if (!job || job.runId !== runId || job.epoch !== fence.epoch) return "stale";
  }
  if (newRun) return found.runs.has(newRun.id) ? "exists" : undefined;
  if (cas === null) return undefined;
  const run = found.runs.get(runId);
  if (!run) return "gone";
  if (isEnded(run.status) && !(revives && run.status === "FAILED")) return "ended";
  return cas === "live" || cas === run.version ? undefined : "version";
}

export interface BatchLimits {
  readonly maxUnits: number;
  readonly maxBytes: number;
}

/**
 * Takes from the front of what waits as much as one transaction may hold. A unit that looks at a run's head closes that
 * run for the rest of the batch: later units of the run stay waiting, in order.
 */
export function takeBatch<T extends { readonly unit: Unit; readonly bytes: number }>(
  waiting: readonly T[],
  limits: BatchLimits,
): { batch: T[]; rest: T[] } {
  const batch: T[] = [];
  const rest: T[] = [];
  const closed = new Set<string>();
  let bytes = 0;
  for (const [index, entry] of waiting.entries()) {
    const full = batch.length >= limits.maxUnits || (batch.length > 0 && bytes + entry.bytes > limits.maxBytes);
    if (full) {
      rest.push(...waiting.slice(index));
      break;
    }
    const { unit } = entry;
    if (unit.type === "transition") {
      const { runId, cas, create: newRun } = unit.transition;
      if (closed.has(runId)) {
        rest.push(entry);
        continue;
      }
      if (cas !== null || newRun) closed.add(runId);
    }
    bytes += entry.bytes;
    batch.push(entry);
  }
  return { batch, rest };
}
