import { eventKeyOf } from "../../../gateway-mock/src/store/batch-gates.ts";
import { outcomesOf } from "../../../gateway-mock/src/store/batch-outcome.ts";
import {
  type Found,
  type HeadWrite,
  needsOf,
  type Plan,
  planBatch,
  type RunWrite,
  rowKeyOf,
  type Unit,
  type UnitOutcome,
} from "../../../gateway-mock/src/store/batch-plan.ts";
import type {
  AppRecord,
  JobKind,
  LogRow,
  NewEvent,
  NewJob,
  NewWait,
  RunHead,
  RunStatus,
  StoredFunction,
  StoredLogRow,
  StoredRun,
  StoredWait,
  WaitQuery,
} from "../../../gateway-mock/src/store/store.ts";

export interface JobRow {
  readonly id: string;
  readonly runId: string;
  readonly kind: JobKind;
  readonly key: string;
  readonly functionId: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly priority: number;
  epoch: number;
  availableMs: number;
  leasedBy: string | null;
  claimedMs: number | null;
  lost: boolean;
}

interface RunRow {
  head: RunHead;
  readonly log: StoredLogRow[];
  readonly keys: Map<string, StoredLogRow>;
  readonly jobs: Set<JobRow>;
  readonly waits: Map<string, StoredWait>;
}

interface StoredEvent {
  readonly event: NewEvent;
  readonly runIds: readonly string[];
  readonly receivedMs: number;
}

const DAY_MS = 86_400_000;
const EPOCH_MS = 1_700_000_000_000;

/** What watches the tables. */
export interface TableWatch {
  /** A transaction changed these runs. */
  changed(runIds: ReadonlySet<string>): void;
  logged(runId: string, row: StoredLogRow): void;
  dispatched(job: JobRow): void;
  /** A decision removes work that somebody holds, and that it is not about. */
  takenAway(job: JobRow): void;
  /** A write under an epoch that was given out again meanwhile counted. */
  wroteUnder(job: JobRow, epoch: number): void;
}

/**
 * The database: the tables, with their unique constraints, and one transaction at a time. What a batch may write is
 * decided by the store's own `planBatch`; here is only what the SQL statements do.
 */
export class Tables {
  readonly runs = new Map<string, RunRow>();
  readonly queue = new Map<string, JobRow>();
  readonly events = new Map<string, StoredEvent>();
  readonly functions = new Map<string, StoredFunction>();
  readonly #jobKeys = new Set<string>();
  watch: TableWatch = {
    changed: () => {},
    logged: () => {},
    dispatched: () => {},
    takenAway: () => {},
    wroteUnder: () => {},
  };
  readonly #eventKeys = new Map<string, { readonly eventId: string; readonly atMs: number }>();
  readonly #nowMs: () => number;
  #seq = 0;
  /** How far the database's clock is off. */
  offsetMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get nowMs(): number {
    return Math.floor(EPOCH_MS + this.#nowMs() + this.offsetMs);
  }

  /** One transaction of the group commit. A unit that breaks a primary key comes back as null, alone. */
  commit(units: readonly Unit[]): readonly (UnitOutcome | null)[] {
    const seen = new Set<string>();
    const bad = new Set(units.filter((unit) => this.#breaksKey(unit, seen)));
    const good = units.filter((unit) => !bad.has(unit));
    const plan = planBatch(good, this.#find(good));
    for (const [index, unit] of good.entries()) this.#lookForTaken(unit, plan.verdicts[index]);
    const fresh = this.#write(plan);
    const outcomes = outcomesOf(good, plan, fresh, this.nowMs);
    this.watch.changed(
      new Set([...plan.writes.logs.map(({ runId }) => runId), ...plan.writes.heads.map(({ runId }) => runId)]),
    );
    let next = 0;
    return units.map((unit) => (bad.has(unit) ? null : (outcomes[next++] ?? null)));
  }

  load(runId: string): RunHead | undefined {
    return this.runs.get(runId)?.head;
  }

  stored(runId: string): StoredRun | undefined {
    const run = this.runs.get(runId);
    return run && { head: run.head, log: [...run.log] };
  }

  hasRow(runId: string, row: Pick<LogRow, "kind" | "key" | "attempt" | "iteration">): boolean {
    return this.runs.get(runId)?.keys.has(rowKey(row)) === true;
  }

  /** Leases jobs as the claim statement does. */
  claim(
    functionId: string,
    limit: number,
    leaseMs: number,
    gatewayId: string,
  ): { job: JobRow; lost: boolean; dueMs: number }[] {
    const { nowMs } = this;
    const due = [...this.queue.values()]
      .filter((job) => job.functionId === functionId && job.availableMs <= nowMs)
      .sort((a, b) => b.priority - a.priority || a.availableMs - b.availableMs)
      .slice(0, limit);
    return due.map((job) => {
      const taken = { job, lost: job.leasedBy !== null || job.lost, dueMs: job.availableMs };
      if (taken.lost && job.runId !== "") {
        const data = JSON.stringify({ kind: job.kind, key: job.key, gatewayId: job.leasedBy });
        const row = {
          kind: "LEASE_LOST",
          key: job.id,
          attempt: job.attempt,
          iteration: job.epoch,
          dataJson: data,
        } as const;
        this.#log(job.runId, row, null, null);
      }
      job.epoch += 1;
      job.availableMs = nowMs + leaseMs;
      job.leasedBy = gatewayId;
      job.claimedMs = nowMs;
      job.lost = false;
      this.watch.dispatched(job);
      return taken;
    });
  }

  findWaits({ name, kinds, eventId, limit, after }: WaitQuery): StoredWait[] {
    const event = eventId === undefined ? undefined : this.events.get(eventId);
    if (eventId !== undefined && !event) return [];
    const isMeant = (wait: StoredWait, triggeredBy: string): boolean =>
      wait.name === name &&
      kinds.includes(wait.kind) &&
      (!after || wait.runId > after.runId || (wait.runId === after.runId && wait.key > after.key)) &&
      (!event || (wait.beganMs < event.receivedMs && triggeredBy !== eventId)) &&
      (!event || wait.expiresMs === null || wait.expiresMs > event.receivedMs);
    return [...this.runs.values()]
      .flatMap(({ head, waits }) => [...waits.values()].filter((wait) => isMeant(wait, head.eventId)))
      .sort((a, b) => (a.runId === b.runId ? (a.key < b.key ? -1 : 1) : a.runId < b.runId ? -1 : 1))
      .slice(0, limit);
  }

  postpone(jobId: string, epoch: number, delayMs: number): boolean {
    const job = this.queue.get(jobId);
    if (job?.epoch !== epoch) return false;
    job.availableMs = this.nowMs + delayMs;
    job.leasedBy = null;
    job.lost = false;
    return true;
  }

  /** Removes a job of no run. */
  finishJob(jobId: string, epoch: number): boolean {
    const job = this.queue.get(jobId);
    if (job?.epoch !== epoch || (job.runId !== "" && job.kind !== "start")) return false;
    this.#removeJob(job);
    return true;
  }

  saveApps(apps: readonly AppRecord[]): StoredFunction[] {
    return apps.flatMap((app) =>
      app.functions.map((fn) => {
        const uuid =
          this.functions.get(fn.slug)?.uuid ??
          `00000000-0000-4000-8000-${String(this.functions.size).padStart(12, "0")}`;
        const stored = { ...fn, appId: app.id, appVersion: app.version, uuid, active: true };
        this.functions.set(fn.slug, stored);
        return stored;
      }),
    );
  }

  #lookForTaken(unit: Unit, verdict: Plan["verdicts"][number] | undefined): void {
    if (unit.type !== "transition" || !verdict || !("won" in verdict) || !verdict.won) return;
    const { fence, removeJobs } = unit.transition;
    const fenced = fence ? this.queue.get(fence.jobId) : undefined;
    if (fence && fenced && fenced.epoch !== fence.epoch) this.watch.wroteUnder(fenced, fence.epoch);
    if (removeJobs === "all") return;
    for (const id of removeJobs) {
      const job = this.queue.get(id);
      const isHeld = job?.leasedBy != null && job.availableMs > this.nowMs;
      if (isHeld && id !== fence?.jobId && job.functionId !== "") this.watch.takenAway(job);
    }
  }

  #breaksKey(unit: Unit, seen: Set<string>): boolean {
    if (unit.type === "transition") return false;
    const { event } = unit.item;
    const held = event.idempotencyKey ? this.#heldKey(event.name, event.idempotencyKey) : undefined;
    if (held !== undefined) return false;
    const isThere = this.events.has(event.id) || seen.has(event.id);
    seen.add(event.id);
    return isThere;
  }

  #heldKey(name: string, key: string): string | undefined {
    const held = this.#eventKeys.get(eventKeyOf(name, key));
    return held && this.nowMs - held.atMs < DAY_MS ? held.eventId : undefined;
  }

  #find(units: readonly Unit[]): Found {
    const needs = needsOf(units);
    const jobs = new Map<string, JobRow>();
    for (const id of needs.jobIds) {
      const job = this.queue.get(id);
      if (job) jobs.set(id, job);
    }
    const runs = needs.runIds.flatMap((id) => this.runs.get(id)?.head ?? []);
    const eventKeys = new Map<string, string>();
    for (const { name, key, eventId } of needs.eventKeys) {
      const held = this.#heldKey(name, key);
      if (held === undefined) this.#eventKeys.set(eventKeyOf(name, key), { eventId, atMs: this.nowMs });
      eventKeys.set(eventKeyOf(name, key), held ?? eventId);
    }
    const waits = [...this.runs.values()].flatMap((run) => [...run.waits.values()]);
    const awaited = new Set(waits.filter(({ kind }) => kind === "event" || kind === "cancel").map(({ name }) => name));
    const signals = new Map(waits.filter(({ kind }) => kind === "signal").map((wait) => [wait.name, wait]));
    return {
      jobs,
      runs: new Map(runs.map((run) => [run.id, run])),
      eventKeys,
      awaited,
      signals,
      gates: new Map(),
      rows: new Set(needs.rows.filter(({ runId, row }) => this.hasRow(runId, row)).map(rowKeyOf)),
      atMs: this.nowMs,
    };
  }

  /** Which of the plan's log rows were new. */
  #write({ writes }: Plan): readonly boolean[] {
    for (const { event, runIds } of writes.events) {
      this.events.set(event.id, { event, runIds, receivedMs: this.nowMs });
    }
    for (const write of writes.runs) this.#insertRun(write);
    const fresh = writes.logs.map(({ runId, row, version, status }) => this.#log(runId, row, version, status));
    for (const write of writes.heads) this.#updateHead(write);
    for (const id of writes.removeJobs) this.#removeJob(this.queue.get(id));
    for (const runId of writes.removeJobsOfRuns) {
      for (const job of [...(this.runs.get(runId)?.jobs ?? [])]) this.#removeJob(job);
    }
    for (const job of writes.jobs) this.#insertJob(job);
    for (const { runId, key } of writes.removeWaits) this.runs.get(runId)?.waits.delete(key);
    for (const runId of writes.removeWaitsOfRuns) this.runs.get(runId)?.waits.clear();
    for (const wait of writes.waits) this.#insertWait(wait);
    return fresh;
  }

  #insertRun({ run, status }: RunWrite): void {
    const { nowMs } = this;
    const head: RunHead = {
      id: run.id,
      functionId: run.functionId,
      appId: run.appId,
      appVersion: run.appVersion,
      status,
      version: 1,
      eventId: run.eventId,
      eventName: run.eventName,
      deadlineMs: run.deadlineMs ?? null,
      outputJson: null,
      errorJson: null,
      createdMs: nowMs,
      startedMs: status === "RUNNING" ? nowMs : null,
      endedMs: null,
    };
    this.runs.set(run.id, { head, log: [], keys: new Map(), jobs: new Set(), waits: new Map() });
  }

  #log(runId: string, row: LogRow, headVersion: number | null, headStatus: RunStatus | null): boolean {
    const run = this.runs.get(runId);
    if (!run || run.keys.has(rowKey(row))) return false;
    this.#seq += 1;
    const stored: StoredLogRow = { ...row, seq: this.#seq, atMs: this.nowMs, headVersion, headStatus };
    run.keys.set(rowKey(row), stored);
    run.log.push(stored);
    this.watch.logged(runId, stored);
    return true;
  }

  #updateHead(write: HeadWrite): void {
    const run = this.runs.get(write.runId);
    if (!run) return;
    const { head } = run;
    run.head = {
      ...head,
      version: write.version,
      status: write.status,
      startedMs: head.startedMs ?? write.startedMs,
      endedMs: write.ended ? this.nowMs : null,
      outputJson: write.output,
      errorJson: write.error,
      appVersion: write.appVersion ?? head.appVersion,
    };
  }

  #removeJob(job: JobRow | undefined): void {
    if (!job) return;
    this.queue.delete(job.id);
    this.#jobKeys.delete(jobKey(job));
    this.runs.get(job.runId)?.jobs.delete(job);
  }

  #insertWait(wait: NewWait): void {
    const { runId, key, kind, name, expression = null, expiresInMs } = wait;
    const run = this.runs.get(runId);
    if (!run || run.waits.has(key)) return;
    const expiresMs = expiresInMs == null ? null : this.nowMs + expiresInMs;
    run.waits.set(key, { runId, key, kind, name, expression, beganMs: this.nowMs, expiresMs });
  }

  #insertJob(job: NewJob): void {
    const run = this.runs.get(job.runId);
    if ((!run && job.runId !== "") || this.#jobKeys.has(jobKey(job))) return;
    this.#jobKeys.add(jobKey(job));
    const { nowMs } = this;
    const dueMs = Math.max(nowMs + (job.delayMs ?? 0), job.notBeforeMs ?? 0);
    const row: JobRow = {
      id: job.id,
      runId: job.runId,
      kind: job.kind,
      key: job.key,
      functionId: job.functionId,
      attempt: job.attempt,
      iteration: job.iteration,
      priority: job.priority ?? 0,
      epoch: job.lease ? 1 : 0,
      availableMs: job.lease ? nowMs + job.lease.leaseMs : dueMs,
      leasedBy: job.lease?.gatewayId ?? null,
      claimedMs: job.lease ? nowMs : null,
      lost: false,
    };
    this.queue.set(job.id, row);
    run?.jobs.add(row);
    if (job.lease) this.watch.dispatched(row);
  }
}

const jobKey = ({ runId, kind, key }: Pick<JobRow, "runId" | "kind" | "key">): string => `${runId}\n${kind}\n${key}`;

function rowKey({ kind, key, attempt, iteration }: Pick<LogRow, "kind" | "key" | "attempt" | "iteration">): string {
  return `${kind}\n${key}\n${attempt}\n${iteration}`;
}
