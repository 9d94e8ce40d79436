/**
 * `createFunction`: the types of handlers, and what a function is inside. `function-config.ts` says what the gateway
 * learns of it.
 */
import type { LoggerLike } from "@holdfast/core";
import type { SchemaMap } from "../events/event-types.ts";
import type { StandardSchema } from "../events/standard-schema.ts";
import type { FailureEvent } from "../events/triggers.ts";
import type { CompensationReport } from "../steps/errors.ts";
import type { FunctionTypes } from "../steps/references.ts";
import { type RetryIf, type RetryPolicy, readRetryIf } from "../steps/retry-policy.ts";
import type { StepTools } from "../steps/step-types.ts";
import type { AppClient } from "./app-client.ts";
import { FunctionChecks } from "./function-checks.ts";
import { type FunctionConfig, failureConfig, functionConfig, queueOf, retryPolicyOf } from "./function-config.ts";
import type { FunctionOptions } from "./function-options.ts";
import { type IsolatedHandler, isolatedHandlerOf } from "./isolate-option.ts";
import { hintsOf } from "./name-hints.ts";

/** What a handler is given. */
export interface HandlerContext<Event, Schemas extends SchemaMap = SchemaMap> {
  /** The event that started the run; of a batch the first. */
  readonly event: Event;
  readonly events: readonly Event[];
  readonly step: StepTools<Schemas>;
  readonly runId: string;
  /** Zero-based. */
  readonly attempt: number;
  /** How many attempts there are in all. */
  readonly maxAttempts: number;
  /**
   * The client's logger; its lines say run, function, step and attempt. Lines of the handler are left out while it is
   * replayed; those of step bodies never are.
   */
  readonly logger: LoggerLike;
  /** Fires when the work is not wanted any more: run cancelled, lease lost, deadline over, race lost. */
  readonly signal: AbortSignal;
  /** The version of the app that the run started with. */
  readonly version: string | undefined;
  /**
   * Ends this run and starts a new one of the same function with this as its `event.data`, at once or not at all:
   * `return continueAs(data)`. The new run has a history and limits of its own. For functions that never end.
   */
  continueAs(data: ContinueData<Event>): never;
}

/** The data that a function's next run is given: that of its events. */
export type ContinueData<Event> = Event extends { readonly data: infer Data }
  ? Data
  : Readonly<Record<string, unknown>>;

export type Handler<Event, Schemas extends SchemaMap = SchemaMap, Output = unknown> = (
  context: HandlerContext<Event, Schemas>,
) => Output;

/** What a run failed with, as its failure handler gets it. */
export interface RunError extends Error {
  readonly code?: unknown;
  /** What became of the steps that could be undone; absent when the run had none. */
  readonly compensation?: CompensationReport;
}

export interface FailureContext<Event, Schemas extends SchemaMap = SchemaMap>
  extends Omit<HandlerContext<FailureEvent<Event>, Schemas>, "continueAs"> {
  /** What the run failed with: name, message, stack, cause and own fields of what was thrown. */
  readonly error: RunError;
}

export type FailureHandler<Event, Schemas extends SchemaMap = SchemaMap> = (
  context: FailureContext<Event, Schemas>,
) => unknown;

/** A function that was made by `createFunction`; the types are those of the data it is invoked with and of its result. */
export interface HoldfastFunction<Data = unknown, Output = unknown> extends FunctionTypes<Data, Output> {
  /** As the author gave it. */
  readonly id: string;
  /** `<app id>-<function id>`. */
  readonly slug: string;
  readonly [DEFINITION]: FunctionDefinition;
}

const DEFINITION: unique symbol = Symbol.for("holdfast.function") as never;

/** The inside of a function: what connections and the execution need of it. */
export interface FunctionDefinition {
  readonly appId: string;
  /** The client that made it. */
  readonly client: AppClient;
  readonly config: FunctionConfig;
  readonly failureConfig?: FunctionConfig;
  /** When its steps and its handler are retried. */
  readonly retryPolicy: RetryPolicy;
  readonly retryIf?: RetryIf;
  /** The queue of both. */
  readonly queue: string;
  /** Of an isolated function it is in a module; see `load-isolated.ts`. */
  readonly handler: (context: HandlerContext<unknown>) => unknown;
  /** It runs in a pool thread. */
  readonly isolate?: IsolatedHandler;
  readonly onFailure?: (context: FailureContext<unknown>) => unknown;
  /** Schemas that triggers brought along, by event name. */
  readonly schemas: ReadonlyMap<string, StandardSchema>;
  /** Names in its options that are probably misspelt, each in a sentence. */
  readonly hints?: readonly string[];
}

/** @throws HoldfastError `FUNCTION_INVALID` */
export function defineFunction(
  client: AppClient,
  options: FunctionOptions & { readonly onFailure?: unknown },
  handler: unknown,
): HoldfastFunction {
  const appId = client.options.id;
  const check: FunctionChecks = new FunctionChecks(options);
  checkHandler(check, options, handler);
  const hints = hintsOf(client.schemas, options);
  const config = functionConfig(appId, options, hints);
  const { isolate, onFailure, retryIf } = options;
  const queue = queueOf(options);
  check.ensure(onFailure === undefined || typeof onFailure === "function", "`onFailure` must be a function.");
  const definition: FunctionDefinition = {
    appId,
    client,
    config,
    queue,
    retryPolicy: retryPolicyOf(check, options),
    ...(retryIf === undefined ? {} : { retryIf: readRetryIf(retryIf, (problem) => check.fail(`${problem}.`)) }),
    handler: (handler ?? notHere) as FunctionDefinition["handler"],
    ...(isolate === undefined ? {} : { isolate: isolatedHandlerOf(check, isolate) }),
    schemas: schemasOf(options.triggers),
    hints,
    ...(onFailure === undefined
      ? {}
      : {
          failureConfig: failureConfig(config, queue),
          onFailure: onFailure as NonNullable<FunctionDefinition["onFailure"]>,
        }),
  };
  return Object.freeze({ id: options.id.trim(), slug: config.id, [DEFINITION]: definition });
}

function checkHandler(check: FunctionChecks, options: unknown, handler: unknown): void {
  const isIsolated = (options as Partial<FunctionOptions> | undefined)?.isolate !== undefined;
  if (isIsolated) {
    const { retryIf } = options as Partial<FunctionOptions>;
    check.ensure(
      retryIf === undefined,
      "`retryIf` cannot be handed to a thread; give it to the function that the module of `isolate` exports, made by createFunction().",
    );
    const problem =
      "an isolated function has its handler in the module that `isolate` names; remove the second argument.";
    return check.ensure(handler === undefined, problem);
  }
  if (typeof handler === "function") return;
  check.fail(
    "the second argument must be the handler; triggers belong in the first: createFunction({ id, triggers }, handler).",
  );
}

/** It is loaded before it is run. */
function notHere(): never {
  throw new Error("The handler of an isolated function is in its module.");
}

export function definitionOf(fn: unknown): FunctionDefinition | undefined {
  return (fn as Partial<HoldfastFunction> | null | undefined)?.[DEFINITION];
}

function schemasOf(triggers: FunctionOptions["triggers"]): ReadonlyMap<string, StandardSchema> {
  const schemas = new Map<string, StandardSchema>();
  for (const trigger of [triggers ?? []].flat()) {
    if (!("event" in trigger)) continue;
    const inner = typeof trigger.event === "object" ? trigger.event : undefined;
    const name = inner?.event ?? (trigger.event as string);
    const schema = trigger.schema ?? inner?.schema;
    if (schema !== undefined) schemas.set(name, schema);
  }
  return schemas;
}
