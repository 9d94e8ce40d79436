/**
 * Everything of the SDK that exists at run time, once: `dist/sdk.js` holds it, and the entries take it from there, so that
 * an app and its tests have one copy of each class. What only `holdfast/testing` needs is not in the main entry.
 */

export { HoldfastError } from "@holdfast/core";
export { Holdfast } from "./app/holdfast.ts";
export { openThreadedHandlers } from "./connection/in-memory/threaded-handlers.ts";
export { connect } from "./connection/main/connect.ts";
export { createIsolation } from "./connection/main/create-isolation.ts";
export { mockOf } from "./connection/pool-thread/test-messages.ts";
export { eventType, staticSchema } from "./events/event-types.ts";
export { provideSendDouble } from "./events/send-double.ts";
export { encodeEvents } from "./events/send-events.ts";
export { encodeSignal } from "./events/send-signal.ts";
export { cron } from "./events/triggers.ts";
export { currentExecution } from "./execution/current.ts";
export { createMainThreadStrategy } from "./execution/main-thread.ts";
export { definitionOf } from "./functions/define-function.ts";
export { createRegistry } from "./functions/registry.ts";
export { setReplayCollector } from "./functions/replay-collector.ts";
export { checkKnown, invalidOption } from "./options.ts";
export { RunNotStartedError } from "./runs/run-errors.ts";
export {
  InvokeError,
  InvokeTimeoutError,
  NonDeterminismError,
  NonRetriableError,
  RetryAfterError,
  RunDeadlineError,
  StepError,
  StepNestedError,
  StepTimeoutError,
} from "./steps/errors.ts";
export { referenceFunction } from "./steps/references.ts";
export { reviveError } from "./steps/revive-error.ts";
export { hashStepId } from "./steps/step-id.ts";
export { STEP_KINDS, stepKinds } from "./steps/step-kinds.ts";
export { stepSignal } from "./steps/step-signal.ts";
export { SDK_VERSION } from "./version.ts";
