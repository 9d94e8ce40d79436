import type { Unit, UnitOutcome } from "../../../gateway-mock/src/store/batch-plan.ts";
import { takeBatch } from "../../../gateway-mock/src/store/batch-take.ts";
import type {
  ClaimedJob,
  IntakeItem,
  NewJob,
  Store,
  StoredRun,
  Transition,
  Wake,
} from "../../../gateway-mock/src/store/store.ts";
import { deferred, HoldfastError } from "../../../packages/core/src/index.ts";
import type { Dice } from "./random.ts";
import type { Actor } from "./scheduler.ts";
import type { JobRow, Tables } from "./tables.ts";

/** How the database and the way to it behave. */
export interface StoreMood {
  /** Usual one-way delay, up to this. */
  latencyMs: number;
  spikeRate: number;
  spikeMs: number;
  /** A call is refused after long trying; nothing was stored. */
  failRate: number;
  /** A write is refused although it was stored. */
  doubtRate: number;
  /** A wake-up gets lost. */
  wakeLossRate: number;
}

export const CALM_STORE: StoreMood = {
  latencyMs: 1,
  spikeRate: 0,
  spikeMs: 0,
  failRate: 0,
  doubtRate: 0,
  wakeLossRate: 0,
};

interface Waiting {
  readonly unit: Unit;
  readonly bytes: number;
  readonly done: ReturnType<typeof deferred<UnitOutcome>>;
}

/** Who listens at the database. */
export class Notices {
  readonly #listeners = new Set<{ readonly actor: Actor; readonly hear: (wake: Wake) => void }>();

  listen(actor: Actor, hear: (wake: Wake) => void): () => void {
    const listener = { actor, hear };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(from: Actor, wake: Wake, dice: Dice, mood: StoreMood): void {
    for (const { actor, hear } of this.#listeners) {
      if (actor === from) continue;
      // A lost one means a lost connection: when there is another it says that something may have been missed.
      const isLost = dice.chance(mood.wakeLossRate);
      const delayMs = isLost ? dice.within(0, 3000) : dice.within(0.1, 3 * mood.latencyMs);
      actor.scheduler.after(delayMs, actor, () => hear(isLost ? { type: "all" } : wake));
    }
  }
}

const BATCH = { maxUnits: 128, maxBytes: 8 * 1024 * 1024 } as const;

/** One gateway's store: the port over the tables, with delays, refusals and commits whose fate stays unknown. */
export class ModelStore implements Store {
  readonly #tables: Tables;
  readonly #notices: Notices;
  readonly #actor: Actor;
  readonly #dice: Dice;
  readonly #mood: () => StoreMood;
  #waiting: Waiting[] = [];
  #committing = false;

  constructor(tables: Tables, notices: Notices, actor: Actor, dice: Dice, mood: () => StoreMood) {
    this.#tables = tables;
    this.#notices = notices;
    this.#actor = actor;
    this.#dice = dice;
    this.#mood = mood;
  }

  migrate(): Promise<void> {
    return Promise.resolve();
  }

  async commit(transition: Transition): ReturnType<Store["commit"]> {
    const result = await this.#submit({ type: "transition", transition });
    if (result.type !== "transition") throw new Error("an outcome answers its unit");
    if (result.outcome.won) {
      const { awaited } = result.outcome;
      const withEvents = (transition.events ?? []).flatMap((item) => jobsOf(item, awaited));
      this.#tellOfJobs([...transition.addJobs, ...withEvents]);
    }
    return result.outcome;
  }

  intake(items: Parameters<Store["intake"]>[0]): ReturnType<Store["intake"]> {
    return Promise.all(
      items.map(async (item) => {
        const result = await this.#submit({ type: "intake", item });
        if (result.type !== "intake") throw new Error("an outcome answers its unit");
        const { duplicate, awaited } = result.outcome;
        if (!duplicate) this.#tellOfJobs(jobsOf(item, awaited ? [item.event.id] : []));
        return result.outcome;
      }),
    );
  }

  async claim({ gatewayId, leaseMs, wants }: Parameters<Store["claim"]>[0]): ReturnType<Store["claim"]> {
    const taken = await this.#call(() =>
      wants
        .filter(({ limit }) => limit > 0)
        .flatMap((want) => this.#tables.claim(want.functionId, want.limit, want.leaseMs ?? leaseMs, gatewayId))
        .map(({ job, lost, dueMs }) => ({ job: { ...job }, lost, dueMs })),
    );
    if (taken.length === 0) return [];
    const runs = new Map(
      (await this.loadRuns(taken.flatMap(({ job }) => (job.runId === "" ? [] : [job.runId])))).map((run) => [
        run.head.id,
        run,
      ]),
    );
    return taken.flatMap(({ job, lost, dueMs }) => {
      const run = runs.get(job.runId) ?? null;
      return run || job.runId === "" ? [claimedJob(job, lost, dueMs, run)] : [];
    });
  }

  /** Functions of the simulation have no limits, so none of their jobs is in a lane. */
  claimLimited({ wants }: Parameters<Store["claimLimited"]>[0]): ReturnType<Store["claimLimited"]> {
    if (wants.length > 0) throw new Error("Flow control is not in the model.");
    return this.#call(() => ({ jobs: [], blocked: [], retryInMs: null }));
  }

  adoptLanes(): Promise<void> {
    return this.#call(() => {});
  }

  postponeJob({ jobId, epoch }: Parameters<Store["postponeJob"]>[0], delayMs: number): Promise<boolean> {
    return this.#call(() => this.#tables.postpone(jobId, epoch, delayMs));
  }

  loadWindow(): ReturnType<Store["loadWindow"]> {
    return this.#call(() => null);
  }

  loadEvents(eventIds: readonly string[]): Promise<readonly string[]> {
    return this.#call(() => eventIds.flatMap((id) => this.#tables.events.get(id)?.event.payloadJson ?? []));
  }

  saveCrons(_appIds: readonly string[], crons: Parameters<Store["saveCrons"]>[1]): Promise<void> {
    if (crons.length > 0) throw new Error("Schedules are not in the model.");
    return this.#call(() => {});
  }

  loadCron(): ReturnType<Store["loadCron"]> {
    return this.#call(() => null);
  }

  extendLeases(leases: Parameters<Store["extendLeases"]>[0]): ReturnType<Store["extendLeases"]> {
    return this.#call(() =>
      leases.map(({ jobId, epoch, gatewayId, leaseMs }) => {
        const job = this.#tables.queue.get(jobId);
        if (job?.epoch !== epoch) return false;
        job.availableMs = this.#tables.nowMs + leaseMs;
        job.leasedBy = gatewayId;
        job.lost = false;
        return true;
      }),
    );
  }

  releaseLeases(releases: Parameters<Store["releaseLeases"]>[0]): ReturnType<Store["releaseLeases"]> {
    return this.#call(() =>
      releases.map(({ jobId, epoch, lost, heldBy }) => {
        const job = this.#tables.queue.get(jobId);
        if (job?.epoch !== epoch || job.leasedBy === null || (heldBy ?? job.leasedBy) !== job.leasedBy) return false;
        job.availableMs = this.#tables.nowMs;
        job.leasedBy = null;
        job.lost = lost;
        return true;
      }),
    );
  }

  finishJob({ jobId, epoch }: Parameters<Store["finishJob"]>[0]): ReturnType<Store["finishJob"]> {
    return this.#call(() => this.#tables.finishJob(jobId, epoch));
  }

  findWaits(query: Parameters<Store["findWaits"]>[0]): ReturnType<Store["findWaits"]> {
    return this.#call(() => this.#tables.findWaits(query));
  }

  /** Heads first, then logs: others may write in between. */
  async loadRuns(runIds: readonly string[]): Promise<readonly StoredRun[]> {
    const heads = await this.#call(() => [...new Set(runIds)].flatMap((id) => this.#tables.load(id) ?? []));
    if (heads.length === 0) return [];
    return this.#call(() => heads.map((head) => ({ head, log: this.#tables.stored(head.id)?.log ?? [] })));
  }

  nowMs(): Promise<number> {
    return this.#call(() => this.#tables.nowMs);
  }

  nextDueInMs(functionIds: readonly string[]): Promise<number | null> {
    return this.#call(() => {
      const { nowMs, queue } = this.#tables;
      let soonest: number | null = null;
      for (const job of queue.values()) {
        if (!functionIds.includes(job.functionId)) continue;
        soonest = Math.min(soonest ?? Number.POSITIVE_INFINITY, Math.max(0, job.availableMs - nowMs));
      }
      return soonest;
    });
  }

  async saveApps(apps: Parameters<Store["saveApps"]>[0]): ReturnType<Store["saveApps"]> {
    const saved = await this.#call(() => this.#tables.saveApps(apps));
    this.notify({ type: "functions" });
    return saved;
  }

  loadFunctions(): ReturnType<Store["loadFunctions"]> {
    return this.#call(() => [...this.#tables.functions.values()]);
  }

  saveConnection(): Promise<void> {
    return Promise.resolve();
  }

  removeConnections(): Promise<void> {
    return Promise.resolve();
  }

  touchConnections(): Promise<void> {
    return Promise.resolve();
  }

  onWake(listener: (wake: Wake) => void): () => void {
    this.#actor.scheduler.after(this.#delayMs(), this.#actor, () => listener({ type: "all" }));
    return this.#notices.listen(this.#actor, listener);
  }

  notify(wake: Wake): void {
    if (this.#actor.acts()) this.#notices.tell(this.#actor, wake, this.#dice, this.#mood());
  }

  stats(): ReturnType<Store["stats"]> {
    const none = { batches: 0, transitions: 0, statements: 0, logRows: 0, staleWrites: 0, duplicateRows: 0 };
    return { ...none, batchRetries: 0, queued: this.#waiting.length, commitMs: 0 };
  }

  health(): ReturnType<Store["health"]> {
    return { ok: true, awayMs: 0, error: null, outages: 0, awayMsTotal: 0, conflicts: 0 };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  listRuns(): ReturnType<Store["listRuns"]> {
    return this.#call(() => ({ runs: [...this.#tables.runs.values()].map(({ head }) => head), nextCursor: null }));
  }

  getRun(runId: string): ReturnType<Store["getRun"]> {
    return this.#call(() => {
      const run = this.#tables.runs.get(runId);
      return run ? { head: run.head, log: [...run.log], jobs: [...run.jobs], waits: [...run.waits.values()] } : null;
    });
  }

  listEvents(): ReturnType<Store["listEvents"]> {
    return Promise.resolve({ events: [], nextCursor: null });
  }

  getEvent(eventId: string): ReturnType<Store["getEvent"]> {
    return this.#call(() => {
      const stored = this.#tables.events.get(eventId);
      if (!stored) return null;
      const { event, runIds, receivedMs } = stored;
      return { id: event.id, name: event.name, tsMs: event.tsMs, receivedMs, payloadJson: event.payloadJson, runIds };
    });
  }

  listConnections(): ReturnType<Store["listConnections"]> {
    return Promise.resolve([]);
  }

  queueDepth(): ReturnType<Store["queueDepth"]> {
    return Promise.resolve({ due: 0, leased: 0, later: 0 });
  }

  ping(): Promise<void> {
    return this.#call(() => {});
  }

  #tellOfJobs(jobs: readonly ToldJob[]): void {
    const functionIds = new Set<string>();
    for (const job of jobs) if (!job.lease && !job.delayMs && !job.notBeforeMs) functionIds.add(job.functionId);
    if (functionIds.size > 0) this.notify({ type: "jobs", functionIds: [...functionIds] });
  }

  /** A statement: it takes effect at one moment, whether or not its caller lives to see the answer. */
  #call<T>(apply: () => T): Promise<T> {
    const { promise, resolve, reject } = deferred<T>();
    if (!this.#actor.acts()) return promise;
    const mood = this.#mood();
    const { scheduler } = this.#actor;
    if (this.#dice.chance(mood.failRate)) {
      scheduler.after(this.#delayMs() + mood.spikeMs, this.#actor, () => reject(refused("Nothing was stored")));
      return promise;
    }
    scheduler.after(this.#delayMs(), null, () => {
      const result = apply();
      scheduler.after(this.#delayMs(), this.#actor, () => resolve(result));
    });
    return promise;
  }

  #delayMs(): number {
    const { latencyMs, spikeRate, spikeMs } = this.#mood();
    return this.#dice.within(0.1, latencyMs) + (this.#dice.chance(spikeRate) ? this.#dice.within(0, spikeMs) : 0);
  }

  #submit(unit: Unit): Promise<UnitOutcome> {
    const done = deferred<UnitOutcome>();
    if (!this.#actor.alive) return done.promise;
    this.#waiting.push({ unit, bytes: 1, done });
    if (!this.#committing) {
      this.#committing = true;
      // Everything that this turn of the event loop brings goes into the first batch.
      this.#actor.soon(() => this.#commitNext());
    }
    return done.promise;
  }

  /** The next transaction of the group commit: one at a time. */
  #commitNext(): void {
    if (this.#waiting.length === 0) {
      this.#committing = false;
      return;
    }
    const { batch, rest } = takeBatch(this.#waiting, BATCH);
    this.#waiting = rest;
    if (!this.#actor.acts()) return;
    const { scheduler } = this.#actor;
    const mood = this.#mood();
    const refusedEarly = this.#dice.chance(mood.failRate);
    const inDoubt = this.#dice.chance(mood.doubtRate);
    scheduler.after(this.#delayMs(), null, () => {
      const outcomes = refusedEarly ? [] : this.#tables.commit(batch.map(({ unit }) => unit));
      scheduler.after(this.#delayMs(), this.#actor, () => {
        for (const [index, { done }] of batch.entries()) {
          const outcome = outcomes[index];
          if (inDoubt || !outcome)
            done.reject(refused(inDoubt ? "Whether it was stored is unknown" : "Nothing was stored"));
          else done.resolve(outcome);
        }
        this.#commitNext();
      });
    });
  }
}

type ToldJob = Pick<NewJob, "functionId" | "lease" | "delayMs" | "notBeforeMs">;

function jobsOf(item: IntakeItem, awaited: readonly string[]): ToldJob[] {
  const jobs: ToldJob[] = item.runs.flatMap((run) => run.jobs);
  if (awaited.includes(item.event.id)) jobs.push({ functionId: "", lease: item.lease ?? null });
  return jobs;
}

function refused(fate: string): HoldfastError {
  return new HoldfastError("STORE_FAILED", `The database stayed away during a write. ${fate}.`);
}

function claimedJob(job: JobRow, lost: boolean, dueMs: number, run: StoredRun | null): ClaimedJob {
  const { id, runId, kind, key, functionId, attempt, iteration, priority, epoch } = job;
  const { availableMs: leaseUntilMs } = job;
  return {
    id,
    runId,
    kind,
    key,
    functionId,
    attempt,
    iteration,
    priority,
    epoch,
    leaseUntilMs,
    dueSinceMs: dueMs,
    lost,
    run,
  };
}
