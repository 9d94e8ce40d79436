/**
 * Watches flow control: that no limit, rate, debounce, batch or singleton is broken, and that what they hold back is
 * let go in time.
 */
import { type EventRow, type JobRow, qualify, type RunHead } from "@holdfast/store";

import type { Clients } from "./clients.ts";
import type { InvariantId } from "./invariants.ts";
import { isMadeOfAnother } from "./operator-oracle.ts";
import { CRON_EVERY_MS, type FlowControl } from "./planned-options.ts";
import { APP_ID, type FunctionPlan } from "./programs.ts";
import { VersionOracle, type VersionWorld } from "./version-oracle.ts";

export interface FlowWorld extends VersionWorld {
  readonly functions: readonly FunctionPlan[];
  readonly clients: Clients;
  /** Since when nothing goes wrong any more. */
  readonly calmMs: number | null;
}

type FlowControlOf<Type extends FlowControl["type"]> = Extract<FlowControl, { type: Type }>;

/** Schedules are watched for so long when nothing goes wrong any more. */
const CRON_WATCH_MS = 12_000;
/** How late a tick may be then: processes may have to come back first. */
const CRON_LATE_MS = 5_000;
/** A gateway may know the database's time so badly. */
const SKEW_MS = 1_500;
/** How long the end of a run that has to give way may take, with the lease of a gateway that died in between. */
const GIVE_WAY_MS = 30_000;

/** Watches what is between events and runs, and between jobs and those who claim them. */
export class FlowOracle {
  readonly #world: FlowWorld;
  readonly #byId: ReadonlyMap<string, FunctionPlan>;
  readonly #started = new Map<string, number>();
  readonly #starts = new Map<string, number[]>();
  readonly #executed = new Set<string>();
  /** Requests that no worker has had. */
  readonly #returned = new Set<string>();

  constructor(world: FlowWorld) {
    this.#world = world;
    this.#byId = new Map(world.functions.map((plan) => [slugOf(plan), plan]));
    const { tables, oracle } = world;
    const { watch } = tables;
    const versions = new VersionOracle(world);
    tables.watch = {
      ...watch,
      changed: (runIds) => {
        watch.changed(runIds);
        for (const plan of world.functions) this.#checkConcurrency(plan);
      },
      created: (head) => {
        watch.created(head);
        versions.created(head);
      },
      dispatched: (job, isMoved) => {
        watch.dispatched(job, isMoved);
        this.#dispatched(job);
      },
      unstarted: (job) => {
        watch.unstarted(job);
        this.#unstarted(job);
      },
    };
    oracle.onExecution = (requestId, version) => {
      versions.executed(requestId, version);
      if (this.#returned.has(requestId)) oracle.fail("S30", `Request ${requestId} was returned as if it had no start.`);
      this.#executed.add(requestId);
    };
  }

  /** Whether there is nothing left to wait for. */
  isOver(): boolean {
    const { functions, calmMs, tables } = this.#world;
    // Windows are to become runs, and some runs have to give way to others.
    if ([...tables.queue.values()].some(({ runId, kind }) => runId === "" && kind !== "cron")) return false;
    const hasCron = functions.some(({ options }) => options.flowControl.type === "cron");
    return !hasCron || (calmMs !== null && this.#sinceCalmMs() >= CRON_WATCH_MS);
  }

  /** When a worker was first given the run. */
  startMs(runId: string): number | undefined {
    return this.#started.get(runId);
  }

  /** At the end of the schedule. */
  check(): void {
    for (const plan of this.#world.functions) this.#checkFlowControl(plan, plan.options.flowControl);
  }

  #fail(id: InvariantId, plan: FunctionPlan, detail: string): void {
    this.#world.oracle.fail(id, `Function ${plan.id}: ${detail}`);
  }

  #sinceCalmMs(): number {
    const { tables, calmMs } = this.#world;
    return tables.nowMs - (tables.epochMs + (calmMs ?? 0));
  }

  #dispatched(job: JobRow): void {
    const { tables, oracle } = this.#world;
    const plan = this.#byId.get(job.functionId);
    if (!plan) return;
    this.#checkConcurrency(plan);
    if (this.#started.has(job.runId)) return;
    this.#started.set(job.runId, tables.nowMs);
    const starts = this.#starts.get(slugOf(plan)) ?? [];
    starts.push(tables.nowMs);
    this.#starts.set(slugOf(plan), starts);
    const event = tables.events.get(tables.runs.get(job.runId)?.head.eventId ?? "");
    const { type } = plan.options.flowControl;
    if (!event || type === "debounce" || type === "batch") return;
    const { tsMs } = event.event;
    const isAhead = tsMs > event.receivedMs + SKEW_MS + 500;
    if (isAhead && tables.nowMs < tsMs) oracle.fail("S36", `Run ${job.runId}, ${tsMs - tables.nowMs} ms before.`);
  }

  /** What a claim has started and no worker had is no start. */
  #unstarted({ id, epoch, runId, functionId }: JobRow): void {
    const plan = this.#byId.get(functionId);
    const startedMs = this.#started.get(runId);
    if (!plan || startedMs === undefined) return;
    const requestId = `${id}.${epoch}`;
    if (this.#executed.has(requestId)) this.#fail("S30", plan, `Request ${requestId} was returned, and executed.`);
    this.#returned.add(requestId);
    this.#started.delete(runId);
    const starts = this.#starts.get(slugOf(plan)) ?? [];
    starts.splice(starts.lastIndexOf(startedMs), 1);
  }

  #checkConcurrency(plan: FunctionPlan): void {
    const { flowControl } = plan.options;
    if (flowControl.type !== "concurrency") return;
    const counts = new Map<string, number>();
    for (const { functionId, leasedBy, runId } of this.#world.tables.queue.values()) {
      if (leasedBy === null || functionId !== slugOf(plan)) continue;
      const key = flowControl.keyed ? this.#keyOf(runId) : "";
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const [key, count] of counts) {
      if (count > flowControl.limit)
        this.#fail("S29", plan, `${count} jobs of "${key}" are leased, ${flowControl.limit} may be.`);
    }
  }

  #keyOf(runId: string): string {
    const { tables } = this.#world;
    const event = tables.events.get(tables.runs.get(runId)?.head.eventId ?? "");
    return String((JSON.parse(event?.event.payloadJson ?? "{}") as { data?: { key?: string } }).data?.key);
  }

  #checkFlowControl(plan: FunctionPlan, flowControl: FlowControl): void {
    switch (flowControl.type) {
      case "none":
      case "concurrency":
        return this.#checkEachHasOne(plan);
      case "cron":
        this.#checkTicks(plan);
        return this.#checkEachHasOne(plan);
      case "throttle":
        this.#checkStarts(plan, flowControl);
        return this.#checkEachHasOne(plan);
      case "rate limit":
        return this.#checkRate(plan, flowControl);
      case "debounce":
        return this.#checkDebounce(plan, flowControl);
      case "batch":
        return this.#checkBatches(plan, flowControl);
      case "singleton":
        return flowControl.mode === "skip" ? this.#checkSkips(plan) : this.#checkGivesWay(plan);
    }
  }

  /** In the order in which they were stored. */
  #events({ id, environment }: FunctionPlan): EventRow[] {
    const name = qualify(environment, `sim/${id}`);
    return [...this.#world.tables.events.values()].filter(({ event }) => event.name === name);
  }

  #headOf(runId: string | undefined): RunHead | undefined {
    return this.#world.tables.runs.get(runId ?? "")?.head;
  }

  #checkEachHasOne(plan: FunctionPlan): void {
    const { oracle, tables } = this.#world;
    const isItsOwn = (runId: string): boolean => {
      const run = tables.runs.get(runId);
      return run === undefined || !isMadeOfAnother(run);
    };
    const wrong = this.#events(plan).find(({ runIds }) => runIds.filter(isItsOwn).length !== 1);
    if (wrong) oracle.fail("S9", `Event ${wrong.event.id} has ${wrong.runIds.length} runs.`);
  }

  #checkStarts(plan: FunctionPlan, { limit, burst, periodMs }: FlowControlOf<"throttle">): void {
    const starts = this.#starts.get(slugOf(plan)) ?? [];
    for (const [i, firstMs] of starts.entries()) {
      for (const [j, lastMs] of starts.entries()) {
        const most = limit + burst + Math.floor(((lastMs - firstMs) * limit) / periodMs);
        if (j >= i && j - i + 1 > most) this.#fail("S30", plan, `${j - i + 1} starts within ${lastMs - firstMs} ms.`);
      }
    }
  }

  #checkRate(plan: FunctionPlan, { limit, periodMs }: FlowControlOf<"rate limit">): void {
    let [beganMs, count] = [0, 0];
    for (const { event, runIds, receivedMs } of this.#events(plan)) {
      if (receivedMs >= beganMs + periodMs) count = 0;
      const made = count < limit ? 1 : 0;
      if (runIds.length !== made) this.#fail("S31", plan, `Event ${event.id} has ${runIds.length} runs, not ${made}.`);
      if (made === 0) continue;
      if (count === 0) beganMs = receivedMs;
      count += 1;
    }
  }

  #checkDebounce(plan: FunctionPlan, { periodMs, timeoutMs }: FlowControlOf<"debounce">): void {
    const events = this.#events(plan);
    let firstMs: number | null = null;
    for (const [index, { event, runIds, receivedMs }] of events.entries()) {
      firstMs ??= receivedMs;
      const head = this.#headOf(runIds[0]);
      if (runIds.length > 1 || (index === events.length - 1 && !head)) {
        return this.#fail(
          "S32",
          plan,
          `Event ${event.id}, ${index + 1} of ${events.length}, has ${runIds.length} runs.`,
        );
      }
      if (!head) continue;
      const dueMs = Math.min(receivedMs + periodMs, firstMs + (timeoutMs ?? Number.POSITIVE_INFINITY));
      if (head.createdMs < dueMs)
        this.#fail("S32", plan, `Run ${head.id} was made ${dueMs - head.createdMs} ms early.`);
      firstMs = null;
    }
  }

  #checkBatches(plan: FunctionPlan, { maxSize, timeoutMs }: FlowControlOf<"batch">): void {
    const batches = new Map<string, EventRow[]>();
    for (const row of this.#events(plan)) {
      const [runId, ...others] = row.runIds;
      if (runId === undefined || others.length > 0) {
        return this.#fail("S33", plan, `Event ${row.event.id} is in ${row.runIds.length} batches.`);
      }
      batches.set(runId, [...(batches.get(runId) ?? []), row]);
    }
    for (const [runId, rows] of batches) {
      const waitedMs = (this.#headOf(runId)?.createdMs ?? 0) - (rows[0]?.receivedMs ?? 0);
      const isRight = rows.length === maxSize || (rows.length < maxSize && waitedMs >= timeoutMs);
      if (!isRight) this.#fail("S33", plan, `Run ${runId} has ${rows.length} events, after ${waitedMs} ms.`);
    }
  }

  #checkSkips(plan: FunctionPlan): void {
    const made: RunHead[] = [];
    for (const { event, runIds, receivedMs } of this.#events(plan)) {
      const isLive = ({ endedMs }: RunHead): boolean => endedMs === null || endedMs > receivedMs;
      const isUnsure = made.some(({ endedMs }) => endedMs === receivedMs);
      const wanted = made.some(isLive) ? 0 : 1;
      if (!isUnsure && runIds.length !== wanted) {
        return this.#fail("S34", plan, `Event ${event.id} has ${runIds.length} runs, not ${wanted}.`);
      }
      const head = this.#headOf(runIds[0]);
      if (head) made.push(head);
    }
  }

  #checkGivesWay(plan: FunctionPlan): void {
    this.#checkEachHasOne(plan);
    const { tables, calmMs } = this.#world;
    const runs = this.#events(plan).flatMap(({ runIds }) => this.#headOf(runIds[0]) ?? []);
    for (const [index, { createdMs }] of runs.slice(1).entries()) {
      const before = runs[index] as RunHead;
      const untilMs = Math.max(createdMs, tables.epochMs + (calmMs ?? 0)) + GIVE_WAY_MS;
      if ((before.endedMs ?? tables.nowMs) > untilMs) this.#fail("S34", plan, `Run ${before.id} did not give way.`);
    }
  }

  #checkTicks(plan: FunctionPlan): void {
    const { tables } = this.#world;
    const runs = [...tables.runs.values()].filter(
      ({ head }) => head.functionId === slugOf(plan) && head.eventName === "inngest/scheduled.timer",
    );
    const ticks = runs.map(({ head }) => {
      const payload = JSON.parse(tables.events.get(head.eventId)?.event.payloadJson ?? "{}") as Tick;
      const atMs = Date.parse(payload.data.scheduledAt);
      if (head.createdMs < atMs) this.#fail("S35", plan, `The tick of ${payload.data.scheduledAt} came before.`);
      return atMs;
    });
    if (new Set(ticks).size < ticks.length) this.#fail("S35", plan, "A tick came twice.");
    const lastMs = Math.max(...ticks);
    if (lastMs < tables.nowMs - CRON_EVERY_MS - CRON_LATE_MS) this.#fail("S35", plan, `The last tick was ${lastMs}.`);
  }
}

interface Tick {
  readonly data: { readonly scheduledAt: string };
}

export const slugOf = ({ id, environment }: FunctionPlan): string => qualify(environment, `${APP_ID}-${id}`);
