/** The options of `createFunction` as types; `function-config.ts` checks them. docs/functions.md explains each. */
import type { DurationInput } from "@holdfast/core";
import type { TriggerInput } from "../events/triggers.ts";
import type { RetryIf, RetryOptions } from "../steps/retry-policy.ts";
import type { IsolateOption } from "./isolate-option.ts";

/** A limit on runs at once: in all, or for each value of a key. */
export interface ConcurrencyOption {
  /**
   * How many runs may execute at once.
   * @example limit: 2
   */
  readonly limit: number;
  /**
   * Expression; the limit applies to each of its values.
   * @example key: "event.data.customer"
   */
  readonly key?: string;
  /**
   * Which runs are counted together: `fn` (default), those of the function; `env`, those of the environment with the
   * same key; `account`, those of all environments with the same key.
   * @example scope: "account"
   */
  readonly scope?: "fn" | "env" | "account";
}

export interface CancelOption {
  /**
   * Runs are cancelled by an event of this name.
   * @example event: "shop/order.cancelled"
   */
  readonly event:
    | string
    | {
        /** The name, as of a declared event. */
        readonly event: string;
      };
  /**
   * Expression over `event` (the run's) and `async` (the cancelling one).
   * @example if: "async.data.orderId == event.data.id"
   */
  readonly if?: string;
  /**
   * Path to a value that both events have and that must be equal, such as "data.userId"; a short form of `if`. Values
   * that are null, or missing in both, do not count as equal.
   * @example match: "data.orderId"
   */
  readonly match?: string;
  /**
   * How long after the run's start the event counts: a duration, or a point in time.
   * @example timeout: "2h"
   */
  readonly timeout?: DurationInput | Date;
}

/** Options of a function, given beside its handler. Expressions are CEL. */
export interface FunctionOptions<Triggers = TriggerInput | readonly TriggerInput[]> {
  /**
   * Unique within the app.
   * @example id: "order"
   */
  readonly id: string;
  /**
   * For people. Default: the id.
   * @example name: "Take an order"
   */
  readonly name?: string;
  /**
   * What starts it. Default: nothing, so it runs only when an app, a step or the API invokes it.
   * @example triggers: [{ event: "shop/order.placed" }, { cron: "0 9 * * *" }]
   */
  readonly triggers?: Triggers;
  /**
   * How often and when a failed step or function is retried, 0 to 20 times. Default 2, so 3 attempts in all.
   * @example retries: { attempts: 6, base: "2s", factor: 3, max: "10m" }
   */
  readonly retries?: number | RetryOptions;
  /**
   * Called with what a step or the handler threw; false = the failure is permanent.
   * @example retryIf: (error) => !(error instanceof HttpError && error.status < 500)
   */
  readonly retryIf?: RetryIf;
  /**
   * Expression; of all events with the same value within 24 hours, only the first starts a run.
   * @example idempotency: "event.data.cart"
   */
  readonly idempotency?: string;
  /**
   * Collects events and starts one run with all of them; the handler gets them as `events`. Not with `cancelOn`,
   * `debounce`, `singleton` or `priority`.
   * @example batchEvents: { maxSize: 100, timeout: "5s", key: "event.data.series" }
   */
  readonly batchEvents?: {
    /** A run starts when so many are there, 2 or more. */
    readonly maxSize: number;
    /** Or so long after the first one. */
    readonly timeout: DurationInput;
    /** Expression; a batch for each of its values. */
    readonly key?: string;
    /** Expression; events for which it is false start a run at once. */
    readonly if?: string;
  };
  /**
   * Limits how many runs start in a period; events beyond the limit are skipped and start nothing.
   * @example rateLimit: { limit: 1, period: "1h", key: "event.data.customer" }
   */
  readonly rateLimit?: {
    /** How many runs. */
    readonly limit: number;
    /** In how long, at most a day. */
    readonly period: DurationInput;
    /** Expression; the limit applies to each of its values. */
    readonly key?: string;
  };
  /**
   * Spreads starts over time: `limit` + `burst` runs start at once, then one every `period / limit`; others wait for
   * their turn.
   * @example throttle: { limit: 10, period: "1m", burst: 5, key: "event.data.tenant" }
   */
  readonly throttle?: {
    /** How many runs start in a period. */
    readonly limit: number;
    /** At most 7 days; runs start evenly over it. */
    readonly period: DurationInput;
    /** How many more may start at once. Default 0. */
    readonly burst?: number;
    /** Expression; the limit applies to each of its values. */
    readonly key?: string;
  };
  /**
   * How many runs may execute at once; others wait. A number, or up to two limits. A run that sleeps or waits takes no
   * slot.
   * @example concurrency: [{ limit: 2, key: "event.data.customer" }, { limit: 50 }]
   */
  readonly concurrency?: number | ConcurrencyOption | readonly ConcurrencyOption[];
  /**
   * Starts one run with the last event, once no other event has arrived for a while.
   * @example debounce: { period: "30s", timeout: "10m", key: "event.data.tenant" }
   */
  readonly debounce?: {
    /** How long it has to be quiet, 1 s to 7 days. */
    readonly period: DurationInput;
    /** After so long it starts though events keep coming; no shorter than `period`. Default: never. */
    readonly timeout?: DurationInput;
    /** Expression; each of its values is debounced by itself. */
    readonly key?: string;
  };
  /**
   * Puts a run ahead of other runs of the function.
   * @example priority: { run: "event.data.plan == 'paid' ? 120 : 0" }
   */
  readonly priority?: {
    /** Expression that gives the seconds by which it is ahead, -600 to 600. */
    readonly run: string;
  };
  /**
   * Cancels runs that take too long.
   * @example timeouts: { start: "10m", finish: "2h" }
   */
  readonly timeouts?: {
    /** A run that has not started by then is cancelled. */
    readonly start?: DurationInput;
    /** A run that has not ended so long after its start is cancelled. */
    readonly finish?: DurationInput;
  };
  /**
   * How long after its creation a run may take; after that it fails with `RUN_DEADLINE_EXCEEDED`, without another
   * attempt.
   * @example deadline: "90s"
   */
  readonly deadline?: DurationInput;
  /**
   * The queue that its runs wait in: only workers that serve it (`connect({ queues })`) run them. Default: the queue
   * `default`, served by workers that name no queue.
   * @example queue: "gpu"
   */
  readonly queue?: string;
  /**
   * How long its runs are kept after they have ended, in place of the gateway's own settings; `off`: forever. A
   * cancelled run is kept like one that completed. Gateways that do not know this option use their own settings.
   * @example retention: { completed: "1d", failed: "30d" }
   */
  readonly retention?: {
    /** Runs that completed or were cancelled. */
    readonly completed?: DurationInput | "off";
    /** Runs that failed. */
    readonly failed?: DurationInput | "off";
  };
  /**
   * Allows only one run at a time, from its creation to its end.
   * @example singleton: { mode: "skip", key: "event.data.customer" }
   */
  readonly singleton?: {
    /** `skip`: an event that comes meanwhile starts nothing; `cancel`: it cancels the run that is under way. */
    readonly mode: "skip" | "cancel";
    /** Expression; one run for each of its values. */
    readonly key?: string;
  };
  /**
   * Events that cancel a run, up to five.
   * @example cancelOn: [{ event: "shop/order.cancelled", match: "data.orderId" }]
   */
  readonly cancelOn?: readonly CancelOption[];
  /**
   * For people; not sent.
   * @example description: "Charges the card and ships."
   */
  readonly description?: string;
  /**
   * Runs its handler in a pool thread, which computing code may block; there is then no handler argument.
   * @example isolate: { module: new URL("./report.js", import.meta.url), export: "report" }
   */
  readonly isolate?: IsolateOption;
}

export const DEFAULT_RETRIES = 2;
