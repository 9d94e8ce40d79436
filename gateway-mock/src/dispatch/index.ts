/** The dispatcher, as the rest of the gateway sees it. */

export type { RunWaiting } from "./admission/waiting-facts.ts";
export { Dispatcher } from "./dispatcher.ts";
export type { AttachedWorker } from "./dispatcher-types.ts";
export { INTERNAL_FIELD, ignoredField, type RawEvent, unknownField } from "./events/event-checks.ts";
export type { IdSeed } from "./events/id-seed.ts";
export type { FunctionCount } from "./function-counts.ts";
export { dispatchedBy, type GraphDispatch, type GraphRequest, isGraphEvent } from "./graphs/graph-request.ts";
export type { Notice, OnNotice } from "./notices.ts";
export {
  type CallOutcome,
  type CallTrouble,
  DEFAULT_DISPATCHER_SETTINGS,
  type DispatcherOptions,
  type OutgoingCall,
} from "./ports.ts";
export type { LimitedRun, LimitInUse } from "./queue/limits-in-use.ts";
export { settledOps } from "./queue/read-reports.ts";
export { isGatewaySilent, versionName, workersOf } from "./queue/versions.ts";
export type { PausedFunction } from "./registry/control-commands.ts";
export { findFunction } from "./registry/find-function.ts";
export type { KnownFunction } from "./registry/functions.ts";
export { cronsOf } from "./registry/published-graphs.ts";
export type { WantedVersion } from "./repair/repairs.ts";
export type { SpanFacts } from "./span-facts.ts";
export type { SocketEnd, WorkerSession } from "./workers/connected-worker.ts";
export type { AppWorkersState } from "./workers/worker-states.ts";
