/** The dispatcher, as the rest of the gateway sees it. */

export type { RunWaiting } from "./admission/waiting-facts.ts";
export { Dispatcher } from "./dispatcher.ts";
export type { AttachedWorker } from "./dispatcher-types.ts";
export { INTERNAL_FIELD, type RawEvent } from "./events/event-checks.ts";
export type { IdSeed } from "./events/event-intake.ts";
export type { FunctionCount } from "./function-counts.ts";
export type { Notice, OnNotice } from "./notices.ts";
export {
  type CallOutcome,
  type CallTrouble,
  DEFAULT_DISPATCHER_SETTINGS,
  type DispatcherOptions,
  type OutgoingCall,
} from "./ports.ts";
export { settledOps } from "./queue/read-reports.ts";
export { versionName } from "./queue/versions.ts";
export type { PausedFunction } from "./registry/control-commands.ts";
export { findFunction } from "./registry/find-function.ts";
export type { KnownFunction } from "./registry/functions.ts";
export type { WantedVersion } from "./repair/repairs.ts";
export type { WorkerSession } from "./workers/connected-worker.ts";
