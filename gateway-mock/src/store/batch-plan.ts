import type {
  CommitOutcome,
  IntakeItem,
  IntakeOutcome,
  LogRow,
  LostWhy,
  NewEvent,
  NewJob,
  NewRun,
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
  /** The transaction's time. */
  readonly atMs: number;
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
}

/** What a unit comes to, before it is known which of its log rows were new. */
export type Verdict =
  | { readonly won: false; readonly why: LostWhy }
  | { readonly won: true; readonly version: number | null; readonly firstLog: number; readonly logCount: number }
  | { readonly event: string; readonly duplicate: boolean };

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
  for (const unit of units) {
    if (unit.type === "intake") {
      const { id, name, idempotencyKey: key } = unit.item.event;
      if (key && !eventKeys.has(eventKeyOf(name, key)))
        eventKeys.set(eventKeyOf(name, key), { name, key, eventId: id });
      continue;
    }
    const { fence, cas, create, runId, removeJobs } = unit.transition;
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
  };
  const verdicts = units.map((unit) =>
    unit.type === "intake" ? planIntake(unit.item, found, writes) : planTransition(unit.transition, found, writes),
  );
  return { verdicts, writes };
}

function planIntake({ event, runs }: IntakeItem, found: Found, writes: WriteSet): Verdict {
  if (event.idempotencyKey) {
    const holder = found.eventKeys.get(eventKeyOf(event.name, event.idempotencyKey));
    if (holder !== undefined && holder !== event.id) return { event: holder, duplicate: true };
  }
  writes.events.push({ event, runIds: runs.map(({ run }) => run.id) });
  for (const { run, log, jobs } of runs) create(run, log, jobs, writes);
  return { event: event.id, duplicate: false };
}

function create(run: NewRun, log: readonly LogRow[], jobs: readonly NewJob[], writes: WriteSet): void {
  const status = jobs.some((job) => job.lease) ? "RUNNING" : "PENDING";
  writes.runs.push({ run, status });
  for (const row of log) writes.logs.push({ runId: run.id, row, version: 1, status });
  writes.jobs.push(...jobs);
}

function planTransition(transition: Transition, found: Found, writes: WriteSet): Verdict {
  const why = whyLost(transition, found);
  if (why) return { won: false, why };
  const { runId, log, head, cas, create: newRun, fence } = transition;
  const firstLog = writes.logs.length;
  const won = (version: number | null): Verdict => ({ won: true, version, firstLog, logCount: log.length });
  if (newRun) {
    create(newRun, log, transition.addJobs, writes);
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
  return won(version);
}

function whyLost({ fence, cas, create: newRun, runId }: Transition, found: Found): LostWhy | undefined {
  if (fence) {
    const job = found.jobs.get(fence.jobId);
    if (!job || job.runId !== runId || job.epoch !== fence.epoch) return "stale";
  }
  if (newRun) return found.runs.has(newRun.id) ? "exists" : undefined;
  if (cas === null) return undefined;
  const run = found.runs.get(runId);
  if (!run) return "gone";
  if (isEnded(run.status)) return "ended";
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
