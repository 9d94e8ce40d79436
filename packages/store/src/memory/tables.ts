/**
 * All tables, and the transactions on them. What a batch may write is decided in `../rules`, as on Postgres; here is
 * what the SQL does there.
 */
import type { BulkJob } from "../port/bulk.ts";
import { StoreError } from "../port/errors.ts";
import type { RunDetail, RunEnd } from "../port/reads.ts";
import type { RunOrigin } from "../port/repair.ts";
import type { ClaimRequest, RunHead, StoredRun } from "../port/work.ts";
import { factKeyOf } from "../rules/fact-key.ts";
import { eventKeyOf } from "../rules/flow-rules.ts";
import type { LockedRows } from "../rules/locked-rows.ts";
import { outcomesOf } from "../rules/outcome.ts";
import {
  type BatchPlan,
  type LogAddition,
  type Needs,
  needsOf,
  planBatch,
  type Unit,
  type UnitOutcome,
} from "../rules/plan.ts";
import { Crons } from "./crons.ts";
import { Events } from "./events.ts";
import { FlowRuleRows } from "./flow-rule-rows.ts";
import { Graphs } from "./graphs.ts";
import { Queue } from "./queue.ts";
import { Registry } from "./registry.ts";
import {
  byText,
  type JobRow,
  rowKey as keyOfRow,
  NO_WATCH,
  type RunRow,
  type TableClock,
  type TableWatch,
} from "./rows.ts";
import { Runs } from "./runs.ts";
import { waitOf } from "./waits.ts";

export interface TableOptions {
  readonly clock: TableClock;
  /** Of a function that was never seen before, of which `count` are known. */
  readonly newUuid: (count: number) => string;
}

/**
 * The tables of the memory store, with their unique constraints, and one transaction at a time. What a batch may write is
 * decided by the same `planBatch` as on Postgres; here is only what the SQL statements do there. That it is what they do
 * is tested with random calls made to both (`e2e/sim/test/store`).
 */
export class Tables {
  readonly eventTable: Events;
  readonly runsTable: Runs;
  readonly jobs: Queue;
  readonly flowRules: FlowRuleRows;
  readonly crons: Crons;
  readonly registry: Registry;
  readonly graphs: Graphs;
  /** By run: the one that it was made of. */
  readonly origins = new Map<string, RunOrigin>();
  readonly bulkJobs = new Map<string, BulkJob>();
  readonly #clock: TableClock;
  #momentMs: number | null = null;

  constructor(options: TableOptions) {
    const { newUuid } = options;
    const clock: TableClock = {
      nowMs: () => this.#momentMs ?? options.clock.nowMs(),
      order: () => options.clock.order(),
    };
    this.#clock = clock;
    const watch = (): TableWatch => this.watching;
    this.eventTable = new Events(clock);
    this.runsTable = new Runs(clock, watch);
    this.jobs = new Queue(this.runsTable, clock, watch);
    this.flowRules = new FlowRuleRows(this.runsTable, clock);
    this.crons = new Crons(this.jobs, clock);
    this.registry = new Registry(clock, newUuid);
    this.graphs = new Graphs({ clock, crons: this.crons, changed: () => this.registry.changed() });
    this.registry.published = () => this.graphs.published();
  }

  /** Refuses a claim that rests on another registry, or comes later than it may. */
  expectInTime({ registryVersion, notAfterMs }: Pick<ClaimRequest, "registryVersion" | "notAfterMs">): void {
    this.registry.expect(registryVersion);
    if (notAfterMs === undefined || this.nowMs <= notAfterMs) return;
    throw new StoreError("outdated", "It comes later than it was to come. Nothing was claimed.");
  }

  get nowMs(): number {
    return this.#clock.nowMs();
  }

  get runs(): ReadonlyMap<string, RunRow> {
    return this.runsTable.rows;
  }

  get queue(): ReadonlyMap<string, JobRow> {
    return this.jobs.rows;
  }

  get events(): Events["rows"] {
    return this.eventTable.rows;
  }

  /** A statement or transaction: its time is that of its beginning, throughout. */
  atOneMoment<T>(apply: () => T): T {
    if (this.#momentMs !== null) return apply();
    this.#momentMs = this.nowMs;
    try {
      return apply();
    } finally {
      this.#momentMs = null;
    }
  }

  /** One transaction of the group commit. Where a unit breaks a primary key it comes back as null, alone. */
  commit(units: readonly Unit[]): readonly (UnitOutcome | null)[] {
    return this.atOneMoment(() => this.#commit(units));
  }

  #commit(units: readonly Unit[]): readonly (UnitOutcome | null)[] {
    const needs = needsOf(units);
    const plan = planBatch(units, this.#find(needs));
    if (this.#breaksKey(plan)) {
      if (units.length === 1) return [null];
      const half = Math.ceil(units.length / 2);
      return [...this.commit(units.slice(0, half)), ...this.commit(units.slice(half))];
    }
    this.eventTable.holdKeys(needs);
    this.flowRules.make(needs.flowRules);
    this.decided(units, plan);
    const newer = needs.additions.map(({ runId, seen }) => [runId, this.runsTable.newerThan(runId, seen)] as const);
    const seqs = this.#write(plan);
    const outcomes = outcomesOf(units, plan, { atMs: this.nowMs, seqs, newer: longest(newer) });
    const { logs, heads } = plan.writes;
    this.watching.changed(new Set([...logs, ...heads].map(({ runId }) => runId)));
    return outcomes;
  }

  /** Who hears what is written. */
  protected get watching(): TableWatch {
    return NO_WATCH;
  }

  /** What a transaction is about to write is known, and not yet written. */
  protected decided(_units: readonly Unit[], _plan: BatchPlan): void {}

  stored(runId: string): StoredRun | undefined {
    const run = this.runs.get(runId);
    return run && { head: run.head, log: [...run.log] };
  }

  endsOf(runIds: readonly string[]): RunEnd[] {
    const heads = runIds.flatMap((runId) => this.runs.get(runId)?.head ?? []);
    return heads.map(({ id, functionId, endedMs }) => ({ id, functionId, isEnded: endedMs !== null }));
  }

  detail(runId: string): RunDetail | null {
    const run = this.runs.get(runId);
    if (!run) return null;
    const jobs = [...run.jobs]
      .sort((a, b) => a.availableMs - b.availableMs || byText(a.id, b.id))
      .map(({ id, kind, key, attempt, epoch, availableMs, leasedBy, claimedMs, unplacedSinceMs }) => {
        const isUnplaced = epoch === 0 || unplacedSinceMs !== null;
        return { id, kind, key, attempt, epoch, availableMs, leasedBy, claimedMs, isUnplaced };
      });
    const waits = [...run.waits.values()].sort((a, b) => a.beganMs - b.beganMs || byText(a.key, b.key)).map(waitOf);
    return { head: this.runsTable.shown(run), log: [...run.log], jobs, waits, hold: run.hold };
  }

  *heads(): Iterable<RunHead> {
    for (const { head } of this.runs.values()) yield head;
  }

  /** What is past its time. */
  tidy(): void {
    this.eventTable.tidy();
    this.flowRules.tidy();
  }

  /** A run that has ended, with all that hangs on it. */
  forgetRun(runId: string): void {
    this.jobs.removeOfRun(runId);
    this.runsTable.waits.removeOfRun(runId);
    this.runsTable.rows.delete(runId);
    this.origins.delete(runId);
    this.graphs.unmark(runId);
  }

  forgetEvent(eventId: string): void {
    this.eventTable.rows.delete(eventId);
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

  #stored({ runId, facts }: LogAddition): string[] {
    const keys = this.runs.get(runId)?.keys;
    return facts.flatMap((fact) => (keys?.has(keyOfRow(fact)) ? [factKeyOf(runId, fact)] : []));
  }

  #find(needs: Needs): LockedRows {
    const { waits } = this.runsTable;
    const jobs = needs.jobIds.flatMap((id) => this.queue.get(id) ?? []);
    const runs = needs.runIds.flatMap((id) => this.runs.get(id)?.head ?? []);
    const keys = needs.eventKeys.map(
      ({ name, key, eventId }) => [eventKeyOf(name, key), this.eventTable.holderOf(name, key) ?? eventId] as const,
    );
    const signals = needs.signals.flatMap((name) => waits.ofSignal(name) ?? []);
    return {
      jobs: new Map(jobs.map((job) => [job.id, job])),
      runs: new Map(runs.map((run) => [run.id, run])),
      eventKeys: new Map(keys),
      knownEvents: new Set(needs.repeatedEvents.filter((id) => this.events.has(id))),
      awaited: new Set(needs.eventNames.filter((name) => waits.isAwaited(name))),
      registryVersion: this.registry.version,
      signals: new Map(signals.map((wait) => [wait.name, wait])),
      flowRules: this.flowRules.find(needs.flowRules),
      facts: new Set(needs.additions.flatMap((addition) => this.#stored(addition))),
      atMs: this.nowMs,
    };
  }

  /** Returns the `seq` of each row of the log. */
  #write({ writes }: BatchPlan): readonly number[] {
    const { runsTable, eventTable, jobs } = this;
    const { waits } = runsTable;
    for (const write of writes.events) eventTable.insert(write);
    for (const write of writes.runs) runsTable.insert(write);
    for (const { run } of writes.runs) {
      if (run.origin) this.origins.set(run.id, run.origin);
      if (run.graph) this.graphs.mark(run.id, run.graph);
    }
    const seqs = runsTable.log(writes.logs);
    for (const write of writes.heads) runsTable.updateHead(write);
    for (const id of writes.removeJobs) jobs.remove(this.queue.get(id));
    for (const runId of writes.removeJobsOfRuns) jobs.removeOfRun(runId);
    for (const job of writes.jobs) jobs.insert(job);
    for (const { runId, key } of writes.removeWaits) waits.remove(runId, key);
    for (const runId of writes.removeWaitsOfRuns) waits.removeOfRun(runId);
    for (const wait of writes.waits) runsTable.insertWait(wait);
    for (const flowRule of writes.flowRules) this.flowRules.write(flowRule);
    for (const tick of writes.crons) this.crons.move(tick);
    for (const key of writes.freeKeys) eventTable.freeKey(key);
    for (const link of writes.links) eventTable.link(link);
    return seqs;
  }
}

/** Of several units of one run the list of the one that had seen least. */
function longest(lists: readonly (readonly [string, readonly number[]])[]): ReadonlyMap<string, readonly number[]> {
  const byRun = new Map<string, readonly number[]>();
  for (const [runId, rows] of lists) if (rows.length > (byRun.get(runId)?.length ?? 0)) byRun.set(runId, rows);
  return byRun;
}
