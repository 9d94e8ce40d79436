/** The table of jobs: what is due, who has a lease, which places of limits are taken. */
import type { QueueDepth } from "../port/reads.ts";
import type {
  ClaimRequest,
  Fence,
  Lane,
  LaneAdoption,
  LanesAdopted,
  LeaseExtension,
  LeaseRelease,
  NewJob,
  RecallWant,
} from "../port/work.ts";
import { lanesOf } from "../rules/lanes-of.ts";
import { Groups } from "./groups.ts";
import { byText, type JobRow, jobKey, placeOf, type TableClock, type TableWatch, type Taken } from "./rows.ts";
import type { Runs } from "./runs.ts";

/** Jobs and their leases. */
export class Queue {
  readonly rows = new Map<string, JobRow>();
  readonly #byKey = new Map<string, JobRow>();
  readonly #byFunction = new Groups<JobRow>();
  readonly #bySlot = new Groups<JobRow>();
  readonly #runs: Runs;
  readonly #clock: TableClock;
  #claims = 0;
  readonly #watch: () => TableWatch;

  constructor(runs: Runs, clock: TableClock, watch: () => TableWatch) {
    this.#runs = runs;
    this.#clock = clock;
    this.#watch = watch;
  }

  insert(job: NewJob): void {
    if (this.has(job)) return;
    const { lease = null, lane = null } = job;
    const nowMs = this.#clock.nowMs();
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
      claimId: null,
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
    this.#byKey.set(jobKey(row), row);
    this.#byFunction.add(row.functionId, row);
    for (const slot of slotsOf(row)) this.#bySlot.add(slot, row);
    this.#runs.rows.get(job.runId)?.jobs.add(row);
    if (lease) this.#watch().dispatched(row);
  }

  remove(job: JobRow | undefined): void {
    if (!job) return;
    this.rows.delete(job.id);
    this.#byKey.delete(jobKey(job));
    this.#byFunction.delete(job.functionId, job);
    for (const slot of slotsOf(job)) this.#bySlot.delete(slot, job);
    this.#runs.rows.get(job.runId)?.jobs.delete(job);
  }

  has(key: Pick<JobRow, "runId" | "kind" | "key">): boolean {
    return this.#byKey.has(jobKey(key));
  }

  get(key: Pick<JobRow, "runId" | "kind" | "key">): JobRow | undefined {
    return this.#byKey.get(jobKey(key));
  }

  ofFunction(functionId: string): Iterable<JobRow> {
    return this.#byFunction.of(functionId);
  }

  removeKey(key: Pick<JobRow, "runId" | "kind" | "key">): void {
    this.remove(this.#byKey.get(jobKey(key)));
  }

  removeOfRun(runId: string): void {
    for (const job of [...(this.#runs.rows.get(runId)?.jobs ?? [])]) this.remove(job);
  }

  /** Jobs of a function, in no order. */
  of(functionId: string): Iterable<JobRow> {
    return this.#byFunction.of(functionId);
  }

  /** Due jobs of a function, as claims take them. */
  due(functionId: string): JobRow[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#byFunction.of(functionId)]
      .filter(({ availableMs }) => availableMs <= nowMs)
      .sort((a, b) => placeOf(a) - placeOf(b) || byText(a.id, b.id));
  }

  claim({ gatewayId, leaseMs, wants, rooms = [] }: ClaimRequest): Taken[] {
    const left = [...rooms];
    const taken = wants
      .filter(({ limit }) => limit > 0)
      .flatMap(({ functionId, limit, leaseMs: ownMs = leaseMs, room }) =>
        this.due(functionId)
          .slice(0, limit)
          .map((job) => ({ job, ownMs, room })),
      )
      .sort((a, b) => placeOf(a.job) - placeOf(b.job) || byText(a.job.id, b.job.id))
      .filter(({ room }) => {
        if (room === undefined) return true;
        left[room] = (left[room] ?? 0) - 1;
        return (left[room] ?? 0) >= 0;
      })
      .map(({ job, ownMs }) => this.take(job, gatewayId, ownMs));
    return taken.sort((a, b) => orderOf(a) - orderOf(b) || byText(a.job.id, b.job.id));
  }

  newClaimId(): string {
    this.#claims += 1;
    return String(this.#claims);
  }

  take(job: JobRow, gatewayId: string, leaseMs: number): Taken {
    const taken = {
      job,
      lost: job.leasedBy !== null || job.lost,
      dueMs: job.availableMs,
      unplacedMs: this.#unplacedMs(job),
    };
    if (taken.lost) this.#runs.noteLost(job);
    const nowMs = this.#clock.nowMs();
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
    return unplacedSinceMs === null ? null : this.#clock.nowMs() - unplacedSinceMs;
  }

  extend(leases: readonly LeaseExtension[]): boolean[] {
    return leases.map((lease) => {
      const job = this.#held(lease);
      if (!job || (job.leasedBy === null && job.lane !== "" && !this.#hasPlace(job, lease))) return false;
      job.availableMs = this.#clock.nowMs() + lease.leaseMs;
      job.leasedBy = lease.gatewayId;
      job.lost = false;
      if (lease.next) {
        job.epoch += 1;
        job.claimedMs = this.#clock.nowMs();
        this.#watch().dispatched(job, true);
      }
      return true;
    });
  }

  /** Leases of what workers have end no earlier than in so long. */
  renew(leaseMs: number): number {
    const endMs = this.#clock.nowMs() + leaseMs;
    const held = [...this.rows.values()].filter(
      ({ kind, leasedBy, availableMs }) =>
        (kind === "pass" || kind === "step") && leasedBy !== null && availableMs < endMs,
    );
    for (const job of held) job.availableMs = endMs;
    return held.length;
  }

  release(releases: readonly LeaseRelease[]): boolean[] {
    return releases.map((release) => {
      const job = this.#held(release);
      if (!job || job.leasedBy === null || (release.heldBy ?? job.leasedBy) !== job.leasedBy) return false;
      job.availableMs = this.#clock.nowMs() + (release.holdMs ?? 0);
      job.leasedBy = null;
      job.lost = release.lost;
      // Its limits may have changed while it was leased: it is in another lane then.
      if (release.paced && job.lane === release.paced.lane.split("~", 1)[0]) {
        job.lane = release.paced.lane;
        job.throttle = release.paced.throttle;
      }
      if (release.paced) this.#watch().unstarted(job);
      job.unplacedSinceMs = release.unplaced ? this.#clock.nowMs() - release.unplaced.sinceMs : null;
      // Only what is put off waits for a version.
      job.wantedVersion = (release.holdMs ?? 0) > 0 ? (release.unplaced?.version ?? this.#versionOf(job)) : null;
      return true;
    });
  }

  recall(wants: readonly RecallWant[]): number[] {
    // All wants look at what was there before.
    const nowMs = this.#clock.nowMs();
    const functionIds = new Set(wants.map(({ functionId }) => functionId));
    const held = [...functionIds]
      .flatMap((functionId) => [...this.#byFunction.of(functionId)])
      .filter(({ leasedBy, wantedVersion }) => leasedBy === null && wantedVersion !== null)
      .sort((a, b) => a.createdMs - b.createdMs || byText(a.id, b.id));
    const given = new Set<JobRow>();
    const counts = wants.map(({ functionId, appVersion, limit }) => {
      const isWanted = (job: JobRow): boolean => {
        if (job.functionId !== functionId) return false;
        if (appVersion === null) return job.unplacedSinceMs !== null;
        return job.wantedVersion === appVersion;
      };
      const wanted = held.filter(isWanted).slice(0, limit);
      const found = wanted.filter((job) => !given.has(job));
      for (const job of found) given.add(job);
      return found.length;
    });
    for (const job of given) {
      job.availableMs = Math.min(job.createdMs, nowMs);
      job.wantedVersion = null;
    }
    return counts;
  }

  postpone(fence: Fence, delayMs: number): boolean {
    const job = this.#held(fence);
    if (!job) return false;
    job.availableMs = this.#clock.nowMs() + delayMs;
    job.leasedBy = null;
    return true;
  }

  finish(fence: Fence): boolean {
    const job = this.#held(fence);
    if (!job || (job.runId !== "" && job.kind !== "start")) return false;
    this.remove(job);
    return true;
  }

  adoptLanes(adoptions: readonly LaneAdoption[]): LanesAdopted {
    let moved = 0;
    for (const { functionId, lane } of adoptions)
      for (const job of this.#byFunction.of(functionId)) {
        const before = job.lane;
        if (lane === null && job.lane === "") job.lane = "-";
        if (lane !== null) this.#adopt(job, lane);
        if (job.lane !== before) moved += 1;
      }
    return { moved, left: [] };
  }

  #adopt(job: JobRow, lane: Lane): void {
    const { id, startedId } = lanesOf(lane);
    if (job.lane === id || job.lane === startedId) return;
    const { kind, attempt, iteration, epoch, throttle, unplacedSinceMs } = job;
    const isFirstPass = kind === "pass" && attempt === 0 && iteration === 1;
    const hasStarted = throttle === null && !(isFirstPass && (epoch === 0 || unplacedSinceMs !== null));
    for (const slot of slotsOf(job)) this.#bySlot.delete(slot, job);
    job.lane = hasStarted ? startedId : id;
    job.slotA = lane.slots[0] ?? null;
    job.slotB = lane.slots[1] ?? null;
    job.throttle = hasStarted ? null : lane.throttle;
    for (const slot of slotsOf(job)) this.#bySlot.add(slot, job);
  }

  inSlot(slot: string): Iterable<JobRow> {
    return this.#bySlot.of(slot);
  }

  /** Places of a slot that are taken: by everything that is leased and was not returned. */
  taken(slot: string): number {
    let count = 0;
    for (const { slotA, slotB, leasedBy } of this.#bySlot.of(slot)) {
      if (leasedBy !== null) count += Number(slotA === slot) + Number(slotB === slot);
    }
    return count;
  }

  nextDueInMs(functionIds: readonly string[]): number | null {
    const nowMs = this.#clock.nowMs();
    let soonest: number | null = null;
    for (const functionId of new Set(functionIds)) {
      for (const { availableMs } of this.#byFunction.of(functionId))
        soonest = Math.min(soonest ?? Number.POSITIVE_INFINITY, Math.max(0, Math.ceil(availableMs - nowMs)));
    }
    return soonest;
  }

  /** Leases keep their remaining time. */
  skip(ms: number): void {
    const nowMs = this.#clock.nowMs();
    for (const job of this.rows.values()) if (job.leasedBy !== null && job.availableMs > nowMs) job.availableMs += ms;
  }

  depth(): QueueDepth {
    const nowMs = this.#clock.nowMs();
    const depth = { due: 0, leased: 0, later: 0, dueInLanes: 0 };
    const lanes = new Set<string>();
    let oldestDueMs: number | null = null;
    for (const { availableMs, leasedBy, functionId, lane } of this.rows.values()) {
      if (lane !== "") lanes.add(`${functionId}\n${lane}`);
      if (availableMs <= nowMs) {
        depth.due += 1;
        if (lane !== "") depth.dueInLanes += 1;
        oldestDueMs = Math.max(oldestDueMs ?? 0, nowMs - availableMs);
      } else if (leasedBy !== null) depth.leased += 1;
      else depth.later += 1;
    }
    return { ...depth, oldestDueMs, lanes: lanes.size };
  }

  #versionOf({ runId }: JobRow): string | null {
    return this.#runs.rows.get(runId)?.head.appVersion ?? null;
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

const slotsOf = ({ slotA, slotB }: JobRow): string[] => [slotA, slotB].filter((slot) => slot !== null);

const orderOf = ({ job, dueMs }: Taken): number => dueMs - job.priority * 1000;
