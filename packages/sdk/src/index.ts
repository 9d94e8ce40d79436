/** `holdfast`: what exists at run time comes from `sdk.ts`, where the other entries have it from, too. */

export type { DurationInput, ErrorCode, LoggerLike, LogLevelChoice, PlainError, TraceEntry } from "@holdfast/core";
export type { ClientOptions } from "./app/client-options.ts";
export type { Connection, ConnectionDebugState } from "./connection/main/connection.ts";
export type { ConnectOptions } from "./connection/shared/connect-options.ts";
export type { ConnectionState, DebugState, StateChange } from "./connection/shared/debug-state.ts";
export type {
  StallDebugState,
  StallExecution,
  StallFrame,
  StallMessage,
  StallReport,
} from "./connection/shared/stall.ts";
export type {
  HoldfastChannels,
  IsolationMessage,
  IsolationSubject,
  LeaseMessage,
  StepEndMessage,
  StepStartMessage,
} from "./diagnostics/channels.ts";
export type { GatewayAnswer, GatewayRequest } from "./events/call-api.ts";
export type {
  CheckedOutgoings,
  DeclaredEvent,
  EventOfType,
  EventType,
  NoSchemas,
  OutgoingEvent,
  ReceivedEvent,
  SchemaMap,
  UntypedData,
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
export type { FetchedRunState } from "./events/run-state.ts";
export type { Run, RunFilter, RunPage, RunStatus, RunWaiting, WaitingReason } from "./events/runs.ts";
export type { SentEvents } from "./events/send-events.ts";
export type { FetchLike } from "./events/send-http.ts";
export type { OutgoingSignal, SentSignal } from "./events/send-signal.ts";
export type { SchemaInput, SchemaIssue, SchemaOutput, SchemaResult, StandardSchema } from "./events/standard-schema.ts";
export type {
  CronData,
  CronEvent,
  CronTrigger,
  DataOfTriggers,
  EventOfTriggers,
  EventTrigger,
  FailureData,
  FailureEvent,
  NamedEvent,
  TriggerInput,
} from "./events/triggers.ts";
export type { CurrentExecution, CurrentStep } from "./execution/current.ts";
export type { ResolvedClientOptions } from "./functions/app-client.ts";
export type {
  FailureContext,
  FailureHandler,
  Handler,
  HandlerContext,
  HoldfastFunction,
  RunError,
} from "./functions/define-function.ts";
export type { CancelOption, ConcurrencyOption, FunctionOptions } from "./functions/function-options.ts";
export type { IsolateOption } from "./functions/isolate-option.ts";
export type { IsolationDebugState } from "./isolation/main/pool-types.ts";
export type { HiddenText } from "./options.ts";
export type { InvocationArgs, InvocationOptions } from "./runs/invoke-run.ts";
export type { HeldBackBy } from "./runs/run-errors.ts";
export type { InvokedRun, ResultOptions, RunHandle } from "./runs/run-handle.ts";
export type { ForkOptions, ListRunsOptions, RepairOptions, ResultOf, RunsApi } from "./runs/runs-api.ts";
export {
  connect,
  cron,
  currentExecution,
  eventType,
  Holdfast,
  HoldfastError,
  InvokeError,
  InvokeTimeoutError,
  NonDeterminismError,
  NonRetriableError,
  RetryAfterError,
  RunDeadlineError,
  RunNotStartedError,
  referenceFunction,
  SDK_VERSION,
  StepError,
  StepNestedError,
  StepTimeoutError,
  staticSchema,
  stepSignal,
} from "./sdk.ts";
export type { CompensationReport } from "./steps/errors.ts";
export type { StepFetchInit } from "./steps/fetch-tool.ts";
export type { DurationLike, InstantLike, TemporalDuration, TemporalInstant } from "./steps/points-in-time.ts";
export type { DataOf, FunctionReference, FunctionTypes, InvokeTarget, OutputOf } from "./steps/references.ts";
export type { RetryIf, RetryOptions } from "./steps/retry-policy.ts";
export type { StepId } from "./steps/step-call.ts";
export type { StepKind } from "./steps/step-kinds.ts";
export type { StepResult } from "./steps/step-result.ts";
export type {
  InvokeOptions,
  InvokeResult,
  StepIdWithOptions,
  StepRunOptions,
  StepTools,
  TimeoutInput,
  WaitForEventOptions,
  WaitForSignalOptions,
} from "./steps/step-types.ts";
