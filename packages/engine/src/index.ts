/** The engine: what apps register, what a run is, and what follows from a report, an answer or a timer. Pure. */

export { matchPathProblem } from "@holdfast/protocol";
export { type CheckpointRows, checkpointRows } from "./decide/checkpoint.ts";
export { decide, decideTogether, type JoinedDecision, type StepEnd } from "./decide/decide.ts";
export { deferredEventId } from "./decide/deferred-events.ts";
export { type Decision, FETCH_QUEUE, NEWER_QUEUE } from "./decide/draft.ts";
export type { DecideContext, FetchResult, Input, PassReport, PinOptions, StepResult } from "./decide/input.ts";
export {
  announcesEnd,
  type ContinuedRun,
  DEFERRED_SCHEDULE,
  INVOKED,
  type InternalEvent,
  type InvokedRun,
  invocationText,
} from "./decide/internal-events.ts";
export { readReport } from "./decide/report.ts";
export { hmacSha256Under, sameText, sha1Hex, sha256 } from "./digest.ts";
export { type CtxExpression, compileCtxExpression, expressionProblem } from "./expressions/ctx-expression.ts";
export { type ConditionPlace, Expressions, STEPS_A_TURN } from "./expressions/expressions.ts";
export { matchesOf } from "./expressions/wait-match.ts";
export { cancelWaits, checkCancelPaths } from "./flow/cancel-rules.ts";
export { checkCron, latestTickMs, nextTickMs } from "./flow/cron.ts";
export { EventReader, type TriggerEvent } from "./flow/event-reader.ts";
export {
  type FunctionRetention,
  type FunctionSettings,
  NO_SETTINGS,
  readFunctionSettings,
} from "./flow/function-settings.ts";
export { type RunOptions, readRunOptions, VERSION_POLICIES, type VersionPolicy } from "./flow/run-options.ts";
export {
  eventMatches,
  isAlwaysTriggered,
  isPlain,
  isTriggered,
  laneOf,
  limitsOf,
  onlyLaneOf,
  PLAIN_START,
  type Start,
  type StartStage,
  singletonKeyOf,
  startOf,
  startOfLink,
} from "./flow/triggers.ts";
export { JsonText, jsonText } from "./json/json-text.ts";
export { LargeJsonReader } from "./json/large-json.ts";
export { CHARS_A_TURN, readJson, readLargeJson, SMALL_BYTES } from "./json/read-json.ts";
export { seenEvent, seenText, seenTextInTurns } from "./json/seen-json.ts";
export { parseRetryAfterMs } from "./parse-due.ts";
export { consumedEvents } from "./run/consumed-events.ts";
export { type EndedWait, endedWaits, resultsText } from "./run/ended-waits.ts";
export { applyRow, foldRun, stepJobKeys } from "./run/fold.ts";
export { type Fork, forkOf, type ResumePlan, resumePlan, stepKeyIn, stepNamesIn } from "./run/forked-log.ts";
export { type LogRepairs, repairsIn } from "./run/log-repairs.ts";
export {
  continuedAs,
  type DeferMeta,
  type DispatchedMeta,
  type FailureMeta,
  jsonRow,
  type LossMeta,
  type OpenMeta,
  type RevivalMeta,
  type RunMeta,
  readMeta,
  readRunCreated,
  readStepRow,
  runCreatedRow,
  type StallMeta,
  type StepMeta,
  stepCompletedRow,
} from "./run/log-rows.ts";
export { eventsText, requestPayload, stepsText } from "./run/request-payload.ts";
export {
  DEADLINE,
  type EarlierWait,
  emptyRun,
  FINISH_TIMEOUT,
  hasStepJobs,
  isEnded,
  type JobState,
  jobKey,
  needsWorker,
  type RunState,
} from "./run/run-state.ts";
export {
  attemptSpanId,
  newSpanId,
  newTraceId,
  passSpanId,
  type RunTrace,
  runTrace,
  spanOfEvent,
  withSpan,
} from "./run/run-trace.ts";
export { FAILURE_KEY, isCompensating } from "./run/saga.ts";
export { isLazy, isParked, isParkedOp, isStorableName } from "./run/step-ops.ts";
