/** The options of `createFunction` as types; `function-config.ts` checks them. docs/functions.md explains each. */
import type { DurationInput } from "@holdfast/core";
import type { TriggerInput } from "../events/triggers.ts";
import type { RetryIf, RetryOptions } from "../steps/retry-policy.ts";
import type { IsolateOption } from "./isolate-option.ts";

/** So many runs at once, of all or per value of the key. */
export interface ConcurrencyOption {
  /** How many runs may be at work at once. */
  readonly limit: number;
  /** Expression; the limit holds for each of its values. */
  readonly key?: string;
  readonly scope?: "fn" | "env" | "account";
}

export interface CancelOption {
  /** Runs are cancelled by an event of this name. */
  readonly event: string | { readonly event: string };
  /** Expression over `event` (the run's) and `async` (the cancelling one). */
  readonly if?: string;
  /** Path that must be equal in both events, such as "data.userId"; a short form of `if`. */
  readonly match?: string;
  /** Only this long after the run's start; a duration, or an instant. */
  readonly timeout?: DurationInput | Date;
}

/** What can be said about a function beside its handler. Expressions are CEL. */
export interface FunctionOptions<Triggers = TriggerInput | readonly TriggerInput[]> {
  /** Unique within the app. */
  readonly id: string;
  /** For people. Default: the id. */
  readonly name?: string;
  /** What starts it; `[]` for a function that is only invoked. */
  readonly triggers: Triggers;
  /** How often a failed step or function is tried again, 0 to 20, and when. Default 2, so 3 attempts in all. */
  readonly retries?: number | RetryOptions;
  /** Called with what a step or the handler threw: false = it has failed permanently. */
  readonly retryIf?: RetryIf;
  /** Expression; runs with the same value within 24 hours start once. */
  readonly idempotency?: string;
  readonly batchEvents?: {
    readonly maxSize: number;
    readonly timeout: DurationInput;
    readonly key?: string;
    readonly if?: string;
  };
  readonly rateLimit?: { readonly limit: number; readonly period: DurationInput; readonly key?: string };
  readonly throttle?: {
    readonly limit: number;
    readonly period: DurationInput;
    readonly burst?: number;
    readonly key?: string;
  };
  readonly concurrency?: number | ConcurrencyOption | readonly ConcurrencyOption[];
  readonly debounce?: { readonly period: DurationInput; readonly timeout?: DurationInput; readonly key?: string };
  readonly priority?: { readonly run: string };
  readonly timeouts?: { readonly start?: DurationInput; readonly finish?: DurationInput };
  /** How long after its creation a run may go on: then it fails with `RUN_DEADLINE_EXCEEDED`, without another attempt. */
  readonly deadline?: DurationInput;
  /**
   * The queue that its runs wait in: only workers that serve it (`connect({ queues })`) run them. Default: the queue
   * `default`, which workers serve that name none.
   */
  readonly queue?: string;
  /**
   * How long its runs are kept after they have ended, instead of as long as the gateway keeps all others; `off`: without
   * end. A run that was cancelled is kept like one that completed. Gateways that do not know it keep their own rule.
   */
  readonly retention?: { readonly completed?: DurationInput | "off"; readonly failed?: DurationInput | "off" };
  readonly singleton?: { readonly mode: "skip" | "cancel"; readonly key?: string };
  readonly cancelOn?: readonly CancelOption[];
  /** For people; not sent. */
  readonly description?: string;
  /** Runs its handler in a pool thread, which code that computes may block; there is no handler argument then. */
  readonly isolate?: IsolateOption;
}

export const DEFAULT_RETRIES = 2;
