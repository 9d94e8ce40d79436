/**
 * Delivers events, ends of runs and signals to the waits for them. The job that asks for it is stored with the event,
 * so another gateway repeats it when this one dies (docs/decisions/0020); waits are found by value
 * (docs/decisions/0034).
 */
import { HoldfastError, messageOf, Semaphore } from "@holdfast/core";
import {
  type Expressions,
  matchesOf,
  type RunState,
  readRunCreated,
  type StepResult,
  seenTextInTurns,
} from "@holdfast/engine";
import {
  type EventDetail,
  type Fence,
  levelFor,
  plainName,
  qualify,
  type RunHead,
  type StoredWait,
  type WaitQuery,
} from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";

import type { DispatcherOptions } from "../ports.ts";
import type { RunCache } from "../run-cache.ts";
import type { DecideOutcome } from "./decide-outcome.ts";
import { DeliveryOrder, type EventDelivery } from "./delivery-order.ts";
import type { EarlierEvents } from "./earlier-events.ts";
import { KeptJobs } from "./kept-jobs.ts";
import type { RunUpdater } from "./run-updater.ts";

/** Notifies waiting runs: `key` names the event or the run that ended. */
export interface NotifyJob {
  readonly kind: "event" | "child";
  readonly key: string;
  /** The event, if it is in memory. */
  readonly event?: KnownEvent;
}

/** Its name as its environment has it. */
type KnownEvent = Pick<EventDetail, "id" | "name" | "payloadJson">;

interface Delivery {
  readonly event: KnownEvent;
  readonly payload: unknown;
  /** The job that ends with it. */
  readonly endsJob: string | undefined;
}

/** Says whether the run's decision was stored; `endsJob` is stored with it. */
type Deliver = (wait: StoredWait, endsJob?: string) => Promise<DecideOutcome | null>;

interface Notification {
  /** Ends with the decision where only one run waits. */
  readonly jobId: string;
  readonly deliver: Deliver;
  /** Of an event: its place among others of its name. */
  readonly delivery?: EventDelivery;
}

/** `some`: the gateway stops before all were. */
type Notified = "all" | "all, and the job has ended" | "some";

export interface WaitNotifierParts {
  readonly runs: Pick<RunCache, "retain" | "release" | "loadWith">;
  readonly updater: RunUpdater;
  readonly time: DatabaseTime;
  readonly expressions: Expressions;
  readonly earlierEvents: Pick<EarlierEvents, "giveEarlier">;
}

/** Of a notify job; it is extended while the job goes on (`KeptJobs`). */
export const NOTIFY_LEASE_MS = 20_000;
const PAGE = 200;
/** Of what is in memory. Their look-ups share statements, so connecting or reporting workers do not queue behind them. */
const JOBS_AT_ONCE = 512;
const DELIVERIES_AT_ONCE = 512;
const SIGNAL_TRIES = 20;

/**
 * Notifies runs of what they wait for. The job for that is stored with the event, so that another gateway starts again
 * if this one dies; repeated notifications change nothing, since a wait ends once.
 */
export class WaitNotifier {
  readonly #options: DispatcherOptions;
  readonly #parts: WaitNotifierParts;
  readonly #busy = new Set<Promise<void>>();
  readonly #kept: KeptJobs;
  readonly #jobs = new Semaphore(JOBS_AT_ONCE);
  readonly #deliveries = new Semaphore(DELIVERIES_AT_ONCE);
  readonly #order = new DeliveryOrder();
  #stopped = false;

  constructor(options: DispatcherOptions, parts: WaitNotifierParts) {
    this.#options = options;
    this.#parts = parts;
    this.#kept = new KeptJobs(options, NOTIFY_LEASE_MS);
  }

  /** Works on a job that is leased to this gateway. */
  startJob(job: NotifyJob, fence: Fence): void {
    const work = this.#runJob(job, fence).finally(() => this.#busy.delete(work));
    this.#busy.add(work);
  }

  /**
   * Gives a signal to the one step that waits for it. Resolved with the run means durable; null: nothing waits.
   * @throws HoldfastError `STORE_FAILED`
   */
  async sendSignal(environment: string, name: string, dataJson: string): Promise<{ readonly runId: string } | null> {
    const waited = qualify(environment, name);
    const text = `{"signal":${JSON.stringify(name)},"data":${dataJson}}`;
    for (let tries = 0; tries < SIGNAL_TRIES; tries += 1) {
      const [wait] = await this.#options.store.findWaits({ name: waited, kinds: ["signal"], limit: 1 });
      if (!wait) return null;
      // Else it has just ended, or another step has taken its place.
      if ((await this.#deliverResult(wait, { type: "data", text })) === "won") return { runId: wait.runId };
    }
    throw new HoldfastError(
      "STORE_FAILED",
      `Signal "${name}" could not be delivered: its waiters changed ${SIGNAL_TRIES} times; retry.`,
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#busy);
  }

  async #runJob(job: NotifyJob, fence: Fence): Promise<void> {
    const { store, log, settings } = this.#options;
    this.#kept.keep(fence);
    try {
      const notified = await this.#jobs.run(() =>
        job.kind === "event"
          ? this.#notifyOfEvent(job.key, fence.jobId, job.event)
          : this.#notifyOfEnd(job.key, fence.jobId),
      );
      if (notified === "all") await store.finishJob(fence);
      else if (notified === "some") await store.releaseLeases([{ ...fence, lost: false, heldBy: settings.gatewayId }]);
    } catch (error) {
      // The lease expires, and a gateway starts again.
      const about = job.kind === "event" ? { eventId: job.key } : { runId: job.key };
      log(levelFor(error, "warn"), `Failed to notify waiters of ${job.kind} ${job.key}: ${messageOf(error)}`, about);
    } finally {
      this.#kept.letGo(fence);
    }
  }

  async #notifyOfEvent(eventId: string, jobId: string, known?: KnownEvent): Promise<Notified> {
    const { store } = this.#options;
    if (this.#stopped) return "some";
    const event = known ?? (await store.getEvent(eventId));
    if (!event) return "all";
    const delivery = this.#order.begin(event.name);
    try {
      const payload = await seenTextInTurns(event.payloadJson);
      const matches = matchesOf(await store.waitPaths(event.name), payload);
      const query = { name: event.name, kinds: ["event", "cancel"], eventId, matches } as const;
      const deliver: Deliver = (wait, endsJob) => this.#deliverEvent(wait, { event, payload, endsJob });
      return await this.#forEachWait(query, { jobId, deliver, delivery });
    } finally {
      delivery.end();
    }
  }

  async #notifyOfEnd(runId: string, jobId: string): Promise<Notified> {
    const [run] = await this.#options.store.loadRuns([runId]);
    if (!run || run.head.endedMs === null) return "all";
    const result = resultOf(run.head);
    const [created] = run.log;
    // What waits for a chain waits for the end of its first run, by its id.
    const root = created?.kind === "RUN_CREATED" ? readRunCreated(created.dataJson).meta.chain?.root : undefined;
    const deliver: Deliver = (wait, endsJob) => this.#deliverResult(wait, result, endsJob);
    return this.#forEachWait({ name: root ?? runId, kinds: ["invoke"] }, { jobId, deliver });
  }

  async #forEachWait(
    query: Pick<WaitQuery, "name" | "kinds" | "eventId" | "matches">,
    { jobId, deliver, delivery }: Notification,
  ): Promise<Notified> {
    let after: StoredWait | undefined;
    for (;;) {
      if (this.#stopped) return "some";
      const waits = await this.#options.store.findWaits({ limit: PAGE, ...query, ...(after ? { after } : {}) });
      const last = waits.at(-1);
      if (!last) return "all";
      const earlier = delivery?.reach(last);
      if (earlier) await earlier;
      // Then the earlier ones may have been given up, too.
      if (this.#stopped) return "some";
      const isOnly = waits.length === 1 && !after;
      const delivering = waits.map((wait) =>
        this.#order.give(wait, () => this.#deliveries.run(() => (isOnly ? deliver(wait, jobId) : deliver(wait)))),
      );
      const isAll = waits.length < PAGE;
      if (isAll) delivery?.end();
      else delivery?.moveTo(last);
      const [outcome] = await Promise.all(delivering);
      if (isAll) return isOnly && outcome === "won" ? "all, and the job has ended" : "all";
      after = last;
    }
  }

  async #deliverEvent(wait: StoredWait, { event, payload, endsJob }: Delivery): Promise<DecideOutcome | null> {
    const { runs, expressions, updater, time, earlierEvents } = this.#parts;
    const { runId, key, expression, kind } = wait;
    runs.retain(runId);
    try {
      const isThere = ({ open, memo }: RunState): boolean => kind !== "event" || open.has(key) || memo.has(key);
      const state = await runs.loadWith(runId, isThere);
      if (!state) return null;
      if (expression !== null) {
        const own = expressions.readsEvent(expression) ? await seenTextInTurns(state.eventText) : null;
        if (expressions.mustYield) await expressions.yieldTurn();
        if (!expressions.holds(expression, { event: own, async: payload, nowMs: time.nowMs() })) return null;
      }
      if (kind === "event") {
        if (state.open.get(key)?.earlier && (await earlierEvents.giveEarlier({ runId, key }))) return null;
        const result = { type: "data", text: event.payloadJson } as const;
        return await updater.endStep(runId, { type: "arrived", key, result }, null, endsJob);
      }
      const reason = `The run was cancelled by the event "${plainName(event.name)}" (${event.id}).`;
      return await updater.apply(runId, { type: "cancel", reason, waitKey: key }, null, endsJob);
    } finally {
      runs.release(runId);
    }
  }

  async #deliverResult({ runId, key }: StoredWait, result: StepResult, endsJob?: string): Promise<DecideOutcome> {
    const { runs, updater } = this.#parts;
    runs.retain(runId);
    try {
      return await updater.endStep(runId, { type: "arrived", key, result }, null, endsJob);
    } finally {
      runs.release(runId);
    }
  }
}

/** How the end of an invoked run looks to the step that invoked it. */
function resultOf(head: RunHead): StepResult {
  if (head.status === "COMPLETED") return { type: "data", text: head.outputJson ?? "null" };
  const error = JSON.parse(head.errorJson ?? "null") as { name?: string; message?: string } | null;
  const message = error?.message ?? `The run ${head.id} is ${head.status.toLowerCase()}.`;
  return { type: "error", error: { ...error, name: error?.name ?? "Error", message } };
}
