/**
 * `holdfast/client`: for processes that send events and signals and read runs, and run no functions. A file of its own
 * without the connection, its thread and the steps; `HoldfastError.is` knows errors of both.
 */

export {
  type DurationInput,
  type ErrorCode,
  HoldfastError,
  type LoggerLike,
  type LogLevelChoice,
} from "@holdfast/core";
export { HoldfastClient } from "./app/client.ts";
export type { ClientOptions } from "./app/client-options.ts";
export type { GatewayAnswer, GatewayRequest } from "./events/call-api.ts";
export {
  type CheckedOutgoings,
  type DeclaredEvent,
  type EventOfType,
  type EventType,
  eventType,
  type NoSchemas,
  type OutgoingEvent,
  type SchemaMap,
  staticSchema,
  type UntypedData,
} from "./events/event-types.ts";
export type { FollowFilter, FollowOptions } from "./events/follow-runs.ts";
export type {
  RunContinued,
  RunEvent,
  RunFact,
  RunFactError,
  RunFactFields,
  RunFactStep,
  RunSnapshot,
  RunsReset,
} from "./events/run-events.ts";
export type { Run, RunFilter, RunPage, RunStatus, RunWaiting, WaitingReason } from "./events/runs.ts";
export type { SentEvents } from "./events/send-events.ts";
export type { FetchLike } from "./events/send-http.ts";
export type { OutgoingSignal, SentSignal } from "./events/send-signal.ts";
export type { SchemaInput, SchemaIssue, SchemaOutput, SchemaResult, StandardSchema } from "./events/standard-schema.ts";
export type { ResolvedClientOptions } from "./functions/app-client.ts";
export type { HiddenText } from "./options.ts";
export type { InvocationArgs, InvocationOptions } from "./runs/invoke-run.ts";
export type { HeldBackBy } from "./runs/run-errors.ts";
export { RunNotStartedError } from "./runs/run-errors.ts";
export type { InvokedRun, ResultOptions, RunHandle } from "./runs/run-handle.ts";
export type { ForkOptions, ListRunsOptions, RepairOptions, ResultOf, RunsApi } from "./runs/runs-api.ts";
export type { DurationLike, InstantLike, TemporalDuration, TemporalInstant } from "./steps/points-in-time.ts";
export { type DataOf, type FunctionReference, type InvokeTarget, referenceFunction } from "./steps/references.ts";
