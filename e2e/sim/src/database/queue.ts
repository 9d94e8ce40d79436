import type {
  ClaimRequest,
  Fence,
  LeaseExtension,
  LeaseRelease,
  NewJob,
  QueueDepth,
  RecallWant,
} from "@holdfast/store";

import { byText, type JobRow, jobKey, type Now, placeOf, type TableWatch, type Taken } from "./rows.ts";
import type { Runs } from "./runs.ts";

/** Jobs and their leases. */
export class Queue {
  readonly rows = new Map<string, JobRow>();
  readonly #keys = new Set<string>();
  readonly #runs: Runs;
  readonly #now: Now;
  readonly #watch: () => TableWatch;

  constructor(runs: Runs, now: Now, watch: () => TableWatch) {
    this.#runs = runs;
    this.#now = now;
    this.#watch = watch;
  }

  insert(job: NewJob): void {
    if (this.#keys.has(jobKey(job))) return;
    this.#keys.add(jobKey(job));
    const { lease = null, lane = null } = job;
    const nowMs = this.#now();
    const dueMs = nowMs + (lease?.leaseMs ?? job.delayMs ?? 0);
    const row: JobRow = {
      id: job.id,
      runId: job.runId,
      kind: job.kind,
      key: job.key,
      functionId: job.functionId,
      attempt: job.attempt,
      iteration: job.iteration,
      priority: job.priority ?? 0,
      epoch: lease ? 1 : 0,
      availableMs: lease ? dueMs : Math.max(dueMs, job.notBeforeMs ?? 0),
      leasedBy: lease?.gatewayId ?? null,
      claimedMs: lease ? nowMs : null,
      createdMs: nowMs,
      lost: false,
      lane: lane?.id ?? "",
      slotA: lane?.slots[0] ?? null,
      slotB: lane?.slots[1] ?? null,
      throttle: lane?.throttle ?? null,
      unplacedSinceMs: null,
      wantedVersion: null,
    };
    this.rows.set(job.id, row);
    this.#runs.rows.get(job.runId)?.jobs.add(row);
    if (lease) this.#watch().dispatched(row);
  }

  remove(job: JobRow | undefined): void {
    if (!job) return;
    this.rows.delete(job.id);
    this.#keys.delete(jobKey(job));
    this.#runs.rows.get(job.runId)?.jobs.delete(job);
  }

  has(key: Pick<JobRow, "runId" | "kind" | "key">): boolean {
    return this.#keys.has(jobKey(key));
  }

  removeKey(key: Pick<JobRow, "runId" | "kind" | "key">): void {
    if (!this.#keys.has(jobKey(key))) return;
    this.remove([...this.rows.values()].find((job) => jobKey(job) === jobKey(key)));
  }

  removeOfRun(runId: string): void {
    for (const job of [...(this.#runs.rows.get(runId)?.jobs ?? [])]) this.remove(job);
  }

  /** Due jobs of a function, as claims take them. */
  due(functionId: string): JobRow[] {
    const nowMs = this.#now();
    return [...this.rows.values()]
      .filter((job) => job.functionId === functionId && job.availableMs <= nowMs)
      .sort((a, b) => placeOf(a) - placeOf(b) || byText(a.id, b.id));
  }

  claim({ gatewayId, leaseMs, wants }: ClaimRequest): Taken[] {
    const taken = wants
      .filter(({ limit }) => limit > 0)
      .flatMap(({ functionId, limit, leaseMs: ownMs = leaseMs }) =>
        this.due(functionId)
          .slice(0, limit)
          .map((job) => this.take(job, gatewayId, ownMs)),
      );
    return taken.sort((a, b) => orderOf(a) - orderOf(b) || byText(a.job.id, b.job.id));
  }

  take(job: JobRow, gatewayId: string, leaseMs: number): Taken {
    const taken = {
      job,
      lost: job.leasedBy !== null || job.lost,
      dueMs: job.availableMs,
      unplacedMs: this.#unplacedMs(job),
    };
    if (taken.lost) this.#runs.noteLost(job);
    const nowMs = this.#now();
    job.epoch += 1;
    job.availableMs = nowMs + leaseMs;
    job.leasedBy = gatewayId;
    job.claimedMs = nowMs;
    job.lost = false;
    job.unplacedSinceMs = null;
    job.wantedVersion = null;
    this.#watch().dispatched(job);
    return taken;
  }

  #unplacedMs({ epoch, unplacedSinceMs }: JobRow): number | null {
    if (epoch === 0) return 0;
    return unplacedSinceMs === null ? null : this.#now() - unplacedSinceMs;
  }

  extend(leases: readonly LeaseExtension[]): boolean[] {
    return leases.map((lease) => {
      const job = this.#held(lease);
      if (!job || (job.leasedBy === null && job.lane !== "" && !this.#hasPlace(job, lease))) return false;
      job.availableMs = this.#now() + lease.leaseMs;
      job.leasedBy = lease.gatewayId;
      job.lost = false;
      if (lease.next) {
        job.epoch += 1;
        job.claimedMs = this.#now();
        this.#watch().dispatched(job);
      }
      return true;
    });
  }

  release(releases: readonly LeaseRelease[]): boolean[] {
    return releases.map((release) => {
      const job = this.#held(release);
      if (!job || job.leasedBy === null || (release.heldBy ?? job.leasedBy) !== job.leasedBy) return false;
      job.availableMs = this.#now() + (release.holdMs ?? 0);
      job.leasedBy = null;
      job.lost = release.lost;
      job.unplacedSinceMs = release.unplaced ? this.#now() - release.unplaced.sinceMs : null;
      job.wantedVersion = release.unplaced?.version ?? null;
      return true;
    });
  }

  recall(wants: readonly RecallWant[]): number[] {
    // All wants look at what was there before.
    const nowMs = this.#now();
    const held = [...this.rows.values()]
      .filter(({ epoch, leasedBy, availableMs }) => epoch > 0 && leasedBy === null && availableMs > nowMs)
      .sort((a, b) => a.createdMs - b.createdMs || byText(a.id, b.id));
    const given = new Set<JobRow>();
    return wants.map(({ functionId, appVersion, limit }) => {
      const isWanted = (job: JobRow): boolean => {
        if (job.functionId !== functionId) return false;
        if (appVersion === null) return job.unplacedSinceMs !== null;
        return (job.wantedVersion ?? this.#runs.rows.get(job.runId)?.head.appVersion) === appVersion;
      };
      const wanted = held.filter(isWanted).slice(0, limit);
      const found = wanted.filter((job) => !given.has(job));
      for (const job of found) given.add(job);
      for (const job of found) job.availableMs = Math.min(job.createdMs, nowMs);
      return found.length;
    });
  }

  postpone(fence: Fence, delayMs: number): boolean {
    const job = this.#held(fence);
    if (!job) return false;
    job.availableMs = this.#now() + delayMs;
    job.leasedBy = null;
    return true;
  }

  finish(fence: Fence): boolean {
    const job = this.#held(fence);
    if (!job || (job.runId !== "" && job.kind !== "start")) return false;
    this.remove(job);
    return true;
  }

  adoptLanes(functionIds: readonly string[]): void {
    for (const job of this.rows.values()) if (functionIds.includes(job.functionId) && job.lane === "") job.lane = "-";
  }

  /** Places of a slot that are taken: by everything that is leased and was not returned. */
  taken(slot: string): number {
    let count = 0;
    for (const { slotA, slotB, leasedBy } of this.rows.values()) {
      if (leasedBy !== null) count += Number(slotA === slot) + Number(slotB === slot);
    }
    return count;
  }

  nextDueInMs(functionIds: readonly string[]): number | null {
    const nowMs = this.#now();
    let soonest: number | null = null;
    for (const job of this.rows.values()) {
      if (!functionIds.includes(job.functionId)) continue;
      soonest = Math.min(soonest ?? Number.POSITIVE_INFINITY, Math.max(0, Math.ceil(job.availableMs - nowMs)));
    }
    return soonest;
  }

  depth(): QueueDepth {
    const nowMs = this.#now();
    const depth = { due: 0, leased: 0, later: 0 };
    for (const { availableMs, leasedBy } of this.rows.values()) {
      if (availableMs <= nowMs) depth.due += 1;
      else if (leasedBy !== null) depth.leased += 1;
      else depth.later += 1;
    }
    return depth;
  }

  #held({ jobId, epoch }: Fence): JobRow | undefined {
    const job = this.rows.get(jobId);
    return job?.epoch === epoch ? job : undefined;
  }

  /** Whether a job that was returned may be taken up again. */
  #hasPlace({ slotA, slotB }: JobRow, { functionId, limits }: LeaseExtension): boolean {
    if (functionId === undefined) return false;
    const isFree = (slot: string | null, cap: number | undefined): boolean =>
      slot === null || cap === undefined || this.taken(slot) < cap;
    return isFree(slotA, limits?.slots[0]) && isFree(slotB, limits?.slots[1]);
  }
}

const orderOf = ({ job, dueMs }: Taken): number => dueMs - job.priority * 1000;
