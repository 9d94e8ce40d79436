/** `operate(app).bulk`: what is done with all runs that fit a filter, as a job of the gateways, with its progress. */
import { HoldfastError, sleep, systemClock, systemTimers } from "@holdfast/core";
import type { RunStatus } from "../events/runs.ts";
import type { RepairOptions } from "../runs/runs-api.ts";
import { type DurationLike, durationMsOf, type InstantLike, instantOf } from "../steps/points-in-time.ts";
import { callFor, callGatewayApi, type OperatedClient, segment } from "./call-gateway.ts";

export type BulkAction = "cancel" | "rerun" | "resume" | "delete";

/** Which runs to take: at least one of these fields. Only runs that exist before the job count. */
export interface BulkFilter {
  /**
   * Runs of this function: `<app>-<function>`, or its own id where only one app has it.
   * @example functionId: "shop-order"
   */
  readonly functionId?: string;
  /**
   * Runs with one of these statuses. Default: `cancel` takes runs that have not ended, `rerun` and `resume` runs that
   * failed, `delete` all runs that have ended.
   * @example status: ["FAILED", "CANCELLED"]
   */
  readonly status?: RunStatus | readonly RunStatus[];
  /**
   * Runs that an event of this name started.
   * @example eventName: "shop/order.placed"
   */
  readonly eventName?: string;
  /**
   * Runs that the event with this id started.
   * @example eventId: "01KB0WZQ6E4T2V8M3N5P7R9SXA"
   */
  readonly eventId?: string;
  /**
   * Runs with this id: the sender gave it to the event that started them, or a caller to the run.
   * @example key: "order-4711"
   */
  readonly key?: string;
  /**
   * Runs of the graph with this id.
   * @example graph: "onboarding"
   */
  readonly graph?: string;
  /**
   * With `graph`: the tenant that the graph belongs to.
   * @example tenant: "acme"
   */
  readonly tenant?: string;
  /**
   * Runs that failed with this text in the error; case is ignored.
   * @example error: "card declined"
   */
  readonly error?: string;
  /**
   * For `rerun` and `resume`: also takes runs that have already been rerun or forked. Default: they are left out.
   * @example again: true
   */
  readonly again?: boolean;
  /**
   * Runs created at this time or later.
   * @example after: "2027-01-31T00:00:00Z"
   */
  readonly after?: InstantLike | number;
  /**
   * Runs created before this time.
   * @example before: new Date()
   */
  readonly before?: InstantLike | number;
  /**
   * Instead of all other fields: every run of the environment.
   * @example all: true
   */
  readonly all?: true;
}

/** How far a bulk job is. */
export interface BulkJob {
  readonly id: string;
  readonly action: BulkAction;
  readonly status: "RUNNING" | "DONE" | "STOPPED";
  /** How many runs fitted when it was made; null: too many to count. */
  readonly total: number | null;
  readonly done: number;
  /** Held back by a singleton or a rate limit, or changed meanwhile. */
  readonly skipped: number;
  readonly failed: number;
  /** The first ten failures. */
  readonly errors: readonly string[];
  readonly createdAt: string;
  readonly createdMs: number;
  readonly endedAt: string | null;
  readonly endedMs: number | null;
}

/** How many runs a filter fits. */
export interface BulkPreview {
  readonly count: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
  /** The newest of them. */
  readonly runIds: readonly string[];
  /** Of `rerun` and `resume`: how many fit as well, and are left out, since they were run again already. */
  readonly leftOut: number;
}

export interface BulkResultOptions {
  /**
   * Stops waiting after this time, with `RUN_RESULT_TIMEOUT`; the job continues. Default: never.
   * @example timeout: "10m"
   */
  readonly timeout?: DurationLike;
  /**
   * Stops waiting when it fires, with its reason; the job continues.
   * @example signal: AbortSignal.timeout(60_000)
   */
  readonly signal?: AbortSignal;
  /**
   * Called with the job each time its progress is read, every half second.
   * @example onProgress: ({ done, total }) => console.log(`${done} of ${total}`)
   */
  readonly onProgress?: (job: BulkJob) => void;
}

/** A bulk job that was made. It goes on without this process, at any gateway. */
export interface BulkHandle {
  readonly id: string;
  status(): Promise<BulkJob>;
  /** Stops it; what it has done stays. False: it was over already. */
  stop(): Promise<boolean>;
  /**
   * Waits for its end; also that of one that was stopped.
   * @throws HoldfastError `RUN_RESULT_TIMEOUT`, `NOT_FOUND`, `GATEWAY_UNREACHABLE`
   */
  result(options?: BulkResultOptions): Promise<BulkJob>;
}

/** Each makes a job, and rejects with `BODY_INVALID` for a filter that says nothing, `NOT_FOUND` for no such function. */
export interface BulkApi {
  /** How many runs an action would take. */
  count(action: BulkAction, filter: BulkFilter): Promise<BulkPreview>;
  cancel(filter: BulkFilter): Promise<BulkHandle>;
  /** Makes new runs of the same events. Not repeated when no answer comes: `list()` says whether there is a job. */
  rerun(filter: BulkFilter, options?: RepairOptions): Promise<BulkHandle>;
  /** Lets runs that failed go on: finished steps stay. */
  resume(filter: BulkFilter, options?: RepairOptions): Promise<BulkHandle>;
  delete(filter: BulkFilter): Promise<BulkHandle>;
  /** The newest jobs. */
  list(): Promise<readonly BulkJob[]>;
  /** A job's state; undefined when there is none of this id. */
  get(id: string): Promise<BulkJob | undefined>;
  /** The handle of a job that was made elsewhere. */
  handle(id: string): BulkHandle;
}

const POLL_MS = 500;

export function bulkApi(client: OperatedClient): BulkApi {
  const post = <T extends object>(action: BulkAction, filter: BulkFilter, rest: object): Promise<T> =>
    // A rerun whose answer is lost would be made twice; the others change nothing the second time.
    callFor<T>(client, {
      path: "v1/bulk",
      body: { action, filter: sentFilter(filter), ...rest },
      ...(action === "rerun" ? { tries: 1 } : {}),
    });
  const start = async (action: BulkAction, filter: BulkFilter, options: RepairOptions = {}): Promise<BulkHandle> => {
    const { id } = await post<BulkJob>(action, filter, options);
    return bulkHandle(client, id);
  };
  return {
    count: (action, filter) => post(action, filter, { dryRun: true }),
    cancel: (filter) => start("cancel", filter),
    rerun: (filter, options) => start("rerun", filter, options),
    resume: (filter, options) => start("resume", filter, options),
    delete: (filter) => start("delete", filter),
    async list() {
      return (await callFor<{ jobs: readonly BulkJob[] }>(client, { path: "v1/bulk" })).jobs;
    },
    async get(id) {
      return (await callGatewayApi<BulkJob>(client, { path: `v1/bulk/${segment(id)}` }, true)) ?? undefined;
    },
    handle: (id) => bulkHandle(client, id),
  };
}

function sentFilter({ after, before, ...filter }: BulkFilter): object {
  const time = (value: InstantLike | number): string | number =>
    typeof value === "number" ? value : (instantOf(value) ?? String(value));
  return {
    ...filter,
    ...(after === undefined ? {} : { after: time(after) }),
    ...(before === undefined ? {} : { before: time(before) }),
  };
}

function bulkHandle(client: OperatedClient, id: string): BulkHandle {
  const path = `v1/bulk/${segment(id)}`;
  const status = (): Promise<BulkJob> => callFor<BulkJob>(client, { path });
  return {
    id,
    status,
    async stop() {
      return (await callFor<{ stopped: boolean }>(client, { path: `${path}/stop`, body: {} })).stopped;
    },
    async result({ timeout, signal, onProgress } = {}) {
      const endMs = timeout === undefined ? null : systemClock.monotonicMs() + durationMsOf(timeout, "timeout");
      for (;;) {
        signal?.throwIfAborted();
        const job = await status();
        onProgress?.(job);
        if (job.status !== "RUNNING") return job;
        if (endMs !== null && systemClock.monotonicMs() >= endMs) {
          const seen = `${job.done + job.skipped + job.failed} of ${job.total ?? "many"} runs`;
          throw new HoldfastError("RUN_RESULT_TIMEOUT", `Bulk job ${id} had not ended in time: ${seen}. It goes on.`);
        }
        await sleep(systemTimers, POLL_MS, signal);
      }
    },
  };
}
