import { FAILURE_KEY } from "@holdfast/engine";
import {
  type BatchPlan,
  eventKeyOf,
  type LockedRows,
  type Needs,
  needsOf,
  outcomesOf,
  planBatch,
  type RowOfRun,
  rowKeyOf,
  type StoredRun,
  type Unit,
  type UnitOutcome,
} from "@holdfast/store";

import { Crons, FlowRules } from "./flow-rules.ts";
import { Queue } from "./queue.ts";
import { Registry } from "./registry.ts";
import { type EventRow, type JobRow, rowKey as keyOfRow, NO_WATCH, type RunRow, type TableWatch } from "./rows.ts";
import { Runs } from "./runs.ts";

const DAY_MS = 86_400_000;

/**
 * The database: the tables, with their unique constraints, and one transaction at a time. What a batch may write is
 * decided by the store's own `planBatch`; here is only what the SQL statements do. That it is what they do is tested
 * against the store on Postgres.
 */
export class Tables {
  readonly events = new Map<string, EventRow>();
  readonly runsTable: Runs;
  readonly jobs: Queue;
  readonly flowRules: FlowRules;
  readonly crons: Crons;
  readonly registry: Registry;
  watch: TableWatch = NO_WATCH;
  /** Until then the server does nothing (in virtual time). */
  stopsMs = 0;
  readonly #eventKeys = new Map<string, { readonly eventId: string; readonly atMs: number }>();
  readonly #nowMs: () => number;

  /** `nowMs` = since the beginning of virtual time. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    const now = (): number => this.nowMs;
    const watch = (): TableWatch => this.watch;
    this.runsTable = new Runs(now, watch);
    this.jobs = new Queue(this.runsTable, now, watch);
    this.flowRules = new FlowRules(this.runsTable, now);
    this.crons = new Crons(this.jobs, now);
    this.registry = new Registry(now);
  }

  /** What the clock says at the beginning of virtual time. */
  readonly epochMs = 1_700_000_000_000;

  get nowMs(): number {
    return Math.floor(this.epochMs + this.#nowMs());
  }

  get runs(): ReadonlyMap<string, RunRow> {
    return this.runsTable.rows;
  }

  get queue(): ReadonlyMap<string, JobRow> {
    return this.jobs.rows;
  }

  /** One transaction of the group commit. Where a unit breaks a primary key it comes back as null, alone. */
  commit(units: readonly Unit[]): readonly (UnitOutcome | null)[] {
    const needs = needsOf(units);
    const plan = planBatch(units, this.#find(needs));
    if (this.#breaksKey(plan)) {
      if (units.length === 1) return [null];
      const half = Math.ceil(units.length / 2);
      return [...this.commit(units.slice(0, half)), ...this.commit(units.slice(half))];
    }
    this.#holdKeys(needs);
    this.flowRules.make(needs.flowRules);
    for (const [index, unit] of units.entries()) this.#lookForTaken(unit, plan.results[index]);
    const fresh = this.#write(plan);
    const outcomes = outcomesOf(units, plan, fresh, this.nowMs);
    this.watch.changed(
      new Set([...plan.writes.logs.map(({ runId }) => runId), ...plan.writes.heads.map(({ runId }) => runId)]),
    );
    return outcomes;
  }

  stored(runId: string): StoredRun | undefined {
    const run = this.runs.get(runId);
    return run && { head: run.head, log: [...run.log] };
  }

  /** What is past its time. */
  tidy(): void {
    for (const [key, { atMs }] of this.#eventKeys) if (atMs < this.nowMs - DAY_MS) this.#eventKeys.delete(key);
    this.flowRules.tidy();
  }

  #lookForTaken(unit: Unit, verdict: BatchPlan["results"][number] | undefined): void {
    if (unit.type !== "transition" || !verdict || !("won" in verdict) || !verdict.won) return;
    const { fence, removeJobs } = unit.transition;
    const fenced = fence ? this.queue.get(fence.jobId) : undefined;
    if (fence && fenced && fenced.epoch !== fence.epoch) this.watch.wroteUnder(fenced, fence.epoch);
    // A run that begins to undo gives up all its work, as one that ends.
    if (removeJobs === "all" || unit.transition.log.some(({ key }) => key === FAILURE_KEY)) return;
    for (const id of removeJobs) {
      const job = this.queue.get(id);
      const isHeld = job?.leasedBy != null && job.availableMs > this.nowMs;
      if (isHeld && id !== fence?.jobId && job.functionId !== "") this.watch.takenAway(job);
    }
  }

  #breaksKey({ writes }: BatchPlan): boolean {
    const events = writes.events.map(({ event }) => event.id);
    const runs = writes.runs.map(({ run }) => run.id);
    return (
      events.some((id) => this.events.has(id)) ||
      runs.some((id) => this.runs.has(id)) ||
      new Set(events).size < events.length ||
      new Set(runs).size < runs.length
    );
  }

  #hasRow({ runId, row }: RowOfRun): boolean {
    return this.runs.get(runId)?.keys.has(keyOfRow(row)) === true;
  }

  #heldKey(name: string, key: string): string | undefined {
    const held = this.#eventKeys.get(eventKeyOf(name, key));
    return held && this.nowMs - held.atMs <= DAY_MS ? held.eventId : undefined;
  }

  #holdKeys({ eventKeys }: Needs): void {
    for (const { name, key, eventId } of eventKeys) {
      if (this.#heldKey(name, key) !== undefined) continue;
      this.#eventKeys.set(eventKeyOf(name, key), { eventId, atMs: this.nowMs });
    }
  }

  #find(needs: Needs): LockedRows {
    const jobs = new Map(
      needs.jobIds.flatMap((id) => {
        const job = this.queue.get(id);
        return job ? [[id, job] as const] : [];
      }),
    );
    const runs = needs.runIds.flatMap((id) => this.runs.get(id)?.head ?? []);
    const keys = needs.eventKeys.map(
      ({ name, key, eventId }) => [eventKeyOf(name, key), this.#heldKey(name, key) ?? eventId] as const,
    );
    const waits = this.runsTable.waits();
    const awaited = new Set(waits.filter(({ kind }) => kind === "event" || kind === "cancel").map(({ name }) => name));
    const signals = new Map(waits.filter(({ kind }) => kind === "signal").map((wait) => [wait.name, wait]));
    return {
      jobs,
      runs: new Map(runs.map((run) => [run.id, run])),
      eventKeys: new Map(keys),
      awaited,
      registryVersion: this.registry.version,
      signals,
      flowRules: this.flowRules.find(needs.flowRules),
      rows: new Set(needs.rows.filter((row) => this.#hasRow(row)).map(rowKeyOf)),
      atMs: this.nowMs,
    };
  }

  /** Which of the plan's log rows were new. */
  #write({ writes }: BatchPlan): readonly boolean[] {
    const { runsTable, jobs } = this;
    for (const { event, runIds } of writes.events) {
      this.events.set(event.id, { event, runIds, receivedMs: this.nowMs });
    }
    for (const write of writes.runs) runsTable.insert(write);
    const fresh = writes.logs.map(({ runId, row, version, status }) => runsTable.log(runId, row, version, status));
    for (const write of writes.heads) runsTable.updateHead(write);
    for (const id of writes.removeJobs) jobs.remove(this.queue.get(id));
    for (const runId of writes.removeJobsOfRuns) jobs.removeOfRun(runId);
    for (const job of writes.jobs) jobs.insert(job);
    for (const { runId, key } of writes.removeWaits) this.runs.get(runId)?.waits.delete(key);
    for (const runId of writes.removeWaitsOfRuns) this.runs.get(runId)?.waits.clear();
    for (const wait of writes.waits) runsTable.insertWait(wait);
    for (const flowRule of writes.flowRules) this.flowRules.write(flowRule);
    for (const tick of writes.crons) this.crons.move(tick);
    for (const { name, key, eventId } of writes.freeKeys) {
      if (this.#eventKeys.get(eventKeyOf(name, key))?.eventId === eventId)
        this.#eventKeys.delete(eventKeyOf(name, key));
    }
    for (const { eventIds, runId } of writes.links) {
      for (const id of new Set(eventIds)) {
        const stored = this.events.get(id);
        if (stored) stored.runIds = [...stored.runIds, runId];
      }
    }
    return fresh;
  }
}
