import type { CheckedOutgoings, EventType, OutgoingEvent, SchemaMap, UntypedData } from "../events/event-types.ts";
import type { StandardSchema } from "../events/standard-schema.ts";
import type { EventOfTrigger } from "../events/triggers.ts";
import type { FetchTarget, StepFetchInit } from "./fetch-tool.ts";
import type { DurationLike, InstantLike } from "./points-in-time.ts";
import type { DataOf, InvokeTarget, OutputOf } from "./references.ts";
import type { RetryIf, RetryOptions } from "./retry-policy.ts";
import type { StepId } from "./step-call.ts";
import type { StepResult } from "./step-result.ts";

/** How long something is waited for at most: a duration, or a point in time. */
export type TimeoutInput = DurationLike | InstantLike;

export interface StepRunOptions<Result = unknown> {
  /**
   * Undoes the step when the function has failed permanently. It is called with the step's result and the error that
   * the function failed with, in the reverse order in which steps finished, and runs as a durable step with its own
   * retries.
   * @example compensate: (seat) => seats.cancel(seat.id)
   */
  readonly compensate?: (result: StepResult<Awaited<Result>>, error: Error) => unknown;
  /**
   * How often and when this step is retried; what is left out comes from the function's `retries`. On a gateway other
   * than Holdfast's, never more often than those.
   * @example retries: { attempts: 2, base: "1m" }
   */
  readonly retries?: number | RetryOptions;
  /**
   * Called with what the body threw; false = the failure is permanent. It replaces the function's `retryIf`.
   * @example retryIf: (error) => !(error instanceof HttpError && error.status < 500)
   */
  readonly retryIf?: RetryIf;
  /**
   * How long one attempt may take, from the start of the body. After that the attempt fails with a `StepTimeoutError`,
   * which is retried like any failure; `stepSignal()` of the body fires, and a later result of the body is not used. At
   * least 1 ms; default: no limit.
   * @example timeout: "30s"
   */
  readonly timeout?: DurationLike;
}

/**
 * A step's id and its options in one object. Whatever follows the body is then an argument of the body, even if it
 * looks like options.
 */
export interface StepIdWithOptions<Result = unknown> extends StepRunOptions<Result> {
  /**
   * Identifies the step within its function; its result is stored under it.
   * @example id: "charge the card"
   */
  readonly id: string;
  /**
   * The name shown to people.
   * @example name: "Charge the card"
   */
  readonly name?: string;
}

export interface WaitForEventOptions<Target, Schema> {
  /**
   * The event's name, or a declared event.
   * @example event: "shop/approved"
   */
  readonly event: Target;
  /**
   * Checks and types the event's data; default: that of the declared event, or of the client's `schemas`.
   * @example schema: staticSchema<{ by: string }>()
   */
  readonly schema?: Schema;
  /**
   * How long to wait; after that the step returns null.
   * @example timeout: "3d"
   */
  readonly timeout: TimeoutInput;
  /**
   * CEL expression over `event` (the run's) and `async` (the event that is waited for).
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
   * Since when an event counts: "wait" (default), only one that comes after the wait began; "run", also one that came
   * before it, since the run was created, unless an earlier step of this run was given it.
   * @example since: "run"
   */
  readonly since?: "run" | "wait";
}

/** The event that a `step.waitForEvent` gives. */
export type WaitedEvent<Target, Schema, Schemas> = EventOfTrigger<
  Schema extends StandardSchema
    ? { readonly event: Target & string; readonly schema: Schema }
    : { readonly event: Target },
  Schemas
>;

export interface WaitForSignalOptions {
  /**
   * Its name: `sendSignal` with the same name ends the wait. Only one run at a time may wait for it.
   * @example signal: "order-42-approved"
   */
  readonly signal: string;
  /**
   * How long to wait; after that the step returns null.
   * @example timeout: "3d"
   */
  readonly timeout: TimeoutInput;
  /**
   * When another run waits for the same signal: "fail" (default) fails this run, "replace" takes the wait over.
   * @example onConflict: "replace"
   */
  readonly onConflict?: "replace" | "fail";
}

/** The result of an invoked function as JSON has it: nothing is null. */
export type InvokeResult<Output> = unknown extends Output ? Output : Output extends Nothing ? null : StepResult<Output>;

// biome-ignore lint/suspicious/noConfusingVoidType: handlers without a return statement give void
type Nothing = undefined | void;

export type InvokeOptions<Target> = {
  /**
   * A function made by `createFunction`, of this app or another, or `referenceFunction(...)`.
   * @example function: printLabel
   */
  readonly function: Target;
  /**
   * The version of the event's shape, which the function receives as `event.v`.
   * @example v: "2"
   */
  readonly v?: string;
  /**
   * How long to wait for its end; after that the step fails with an `InvokeTimeoutError`. Default: a year.
   * @example timeout: "1h"
   */
  readonly timeout?: TimeoutInput;
} & (UntypedData extends DataOf<Target> ? { readonly data?: DataOf<Target> } : { readonly data: DataOf<Target> });

/** What a handler does durably. Each call is a step: it happens once per run, and its result is kept. */
export interface StepTools<Schemas extends SchemaMap = SchemaMap> {
  /**
   * Runs `body` and keeps what it returns, as JSON: a Date comes back as text, `undefined` stays `undefined`. When it
   * throws it is tried again; when it has failed permanently the promise rejects with a `StepError`.
   */
  run<Args extends unknown[], Result>(
    id: StepId | StepIdWithOptions<Result>,
    body: (...args: Args) => Result,
    ...args: Args
  ): Promise<StepResult<Awaited<Result>>>;
  run<Args extends unknown[], Result>(
    id: StepId,
    body: (...args: Args) => Result,
    options: StepRunOptions<Result>,
    ...args: Args
  ): Promise<StepResult<Awaited<Result>>>;
  /** Waits without holding anything. Milliseconds, text such as "2h", or a `Temporal.Duration`. */
  sleep(id: StepId, duration: DurationLike): Promise<void>;
  /** Waits until a point in time: a Date, ISO 8601 text, milliseconds since the Unix epoch, or one of `Temporal`. */
  sleepUntil(id: StepId, at: InstantLike | number): Promise<void>;
  /** Waits for an event; gives null when none has come by the `timeout`. */
  waitForEvent<
    const Target extends string | EventType<string, StandardSchema | undefined>,
    Schema extends StandardSchema | undefined = undefined,
  >(id: StepId, options: WaitForEventOptions<Target, Schema>): Promise<WaitedEvent<Target, Schema, Schemas> | null>;
  /** Waits until the signal is sent; returns null if it was not sent by the `timeout`. */
  waitForSignal<Data = unknown>(
    id: StepId,
    options: WaitForSignalOptions,
  ): Promise<{ signal: string; data: StepResult<Data> } | null>;
  /**
   * Runs another function and gives its result. Rejects with an `InvokeError` when it failed and with an
   * `InvokeTimeoutError` when it took too long.
   */
  invoke<Target extends InvokeTarget>(
    id: StepId,
    options: InvokeOptions<Target>,
  ): Promise<InvokeResult<Awaited<OutputOf<Target>>>>;
  /** Sends events, once: a repeat after a crash carries the same ids, by which the gateway knows it. */
  sendEvent<const Events extends OutgoingEvent | readonly OutgoingEvent[]>(
    id: StepId,
    events: CheckedOutgoings<Events, Schemas>,
  ): Promise<{ ids: string[] }>;
  /** Sends a signal; gives the run that waited for it, if one did. */
  sendSignal(id: StepId, signal: { readonly signal: string; readonly data?: unknown }): Promise<{ runId?: string }>;
  /**
   * Makes an HTTP request from the gateway and keeps its response: nothing of this app waits for it. Without an id it is
   * called "step.fetch: <host>".
   */
  fetch(target: FetchTarget, init?: StepFetchInit): Promise<Response>;
  fetch(id: StepId, target: FetchTarget, init?: StepFetchInit): Promise<Response>;
}
