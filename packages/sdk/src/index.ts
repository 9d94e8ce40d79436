export { type ErrorCode, HoldfastError, type LoggerLike } from "@holdfast/core";
export type { ClientOptions } from "./app/client-options.ts";
export { Holdfast } from "./app/holdfast.ts";
export { connect } from "./connection/main/connect.ts";
export type { Connection } from "./connection/main/connection.ts";
export type { ConnectOptions } from "./connection/shared/connect-options.ts";
export type { ConnectionState } from "./connection/shared/connection-state.ts";
export {
  type EventOfType,
  type EventType,
  eventType,
  type NoSchemas,
  type OutgoingEvent,
  type ReceivedEvent,
  type SchemaMap,
  staticSchema,
  type UntypedData,
} from "./events/event-types.ts";
export type { SentEvents } from "./events/send-events.ts";
export type { OutgoingSignal, SentSignal } from "./events/send-signal.ts";
export {
  type CronEvent,
  type CronTrigger,
  cron,
  type EventTrigger,
  type FailureEvent,
  type TriggerInput,
} from "./events/triggers.ts";
export { type CurrentExecution, currentExecution } from "./execution/current.ts";
export { FunctionTest, type TestOutput } from "./function-test/function-test.ts";
export type { FunctionTestOptions, StepAnswer, TestRun, TestStep } from "./function-test/test-types.ts";
export type {
  FailureContext,
  FailureHandler,
  Handler,
  HandlerContext,
  HoldfastFunction,
  RunError,
} from "./functions/define-function.ts";
export type { CancelOption, ConcurrencyOption, FunctionOptions } from "./functions/function-options.ts";
export {
  type CompensationReport,
  InvokeError,
  InvokeTimeoutError,
  NonDeterminismError,
  NonRetriableError,
  RetryAfterError,
  RunDeadlineError,
  StepError,
  StepNestedError,
} from "./steps/errors.ts";
export type { DurationLike, InstantLike } from "./steps/points-in-time.ts";
export { type FunctionReference, referenceFunction } from "./steps/references.ts";
export type { StepId } from "./steps/step-call.ts";
export type { StepResult } from "./steps/step-result.ts";
export type {
  InvokeOptions,
  StepRunOptions,
  StepTools,
  TimeoutInput,
  WaitForEventOptions,
  WaitForSignalOptions,
} from "./steps/step-types.ts";
export { SDK_VERSION } from "./version.ts";
