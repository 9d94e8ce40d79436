/** The engine, as the rest of the gateway sees it. */

export { deferredEventId } from "./decide/deferred-events.ts";
export { Engine } from "./engine.ts";
export type { AttachedWorker } from "./engine-types.ts";
export { INTERNAL_FIELD, type RawEvent } from "./events/event-checks.ts";
export type { IdSeed } from "./events/event-intake.ts";
export { readFunctionSettings } from "./functions/function-settings.ts";
export { VERSION_POLICIES, type VersionPolicy } from "./functions/version-policy.ts";
export { settledOps } from "./jobs/read-reports.ts";
export { versionName } from "./jobs/versions.ts";
export { JsonText, jsonText } from "./json/json-text.ts";
export { readJson, readLargeJson, SMALL_BYTES } from "./json/read-json.ts";
export {
  type CallOutcome,
  type CallTrouble,
  DEFAULT_ENGINE_SETTINGS,
  type EngineOptions,
  type OutgoingCall,
} from "./ports.ts";
export { foldRun } from "./run/fold.ts";
export {
  type DeferMeta,
  type RevivalMeta,
  readMeta,
  readRunCreated,
  readStepRow,
  type StallMeta,
  type StepMeta,
} from "./run/log-rows.ts";
export type { RunState } from "./run/run-state.ts";
export { FAILURE_KEY } from "./run/saga.ts";
export { isStorableName } from "./run/step-ops.ts";
export { eventsText, stepsText } from "./workers/payload.ts";
export type { WorkerSession } from "./workers/workers.ts";
