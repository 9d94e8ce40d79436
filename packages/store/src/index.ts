/** What the gateway asks of a store, the rules that every store keeps, and the store in memory. Pure. */

export {
  createMemoryDatabase,
  KEPT_ENDED_RUNS,
  type MemoryDatabase,
  type MemoryDatabaseOptions,
} from "./memory/memory-database.ts";
export type { Registry } from "./memory/registry.ts";
export { prune as pruneTables } from "./memory/retention.ts";
export type { EventRow, JobRow, RunRow, TableWatch } from "./memory/rows.ts";
export { StoreOnTables, type TableAccess } from "./memory/store-on-tables.ts";
export { Tables } from "./memory/tables.ts";
export { openRuns, placesTaken } from "./memory/waiting-reads.ts";
export {
  BULK_ACTIONS,
  type BulkAction,
  type BulkFilter,
  type BulkJob,
  type BulkPage,
  type BulkProgress,
  type BulkStatus,
  NEWEST_RUN,
  type NewBulkJob,
  type StoreBulk,
} from "./port/bulk.ts";
export {
  type ChangeFact,
  type ChangePage,
  type ChangeRequest,
  type ChangeScope,
  type LogChange,
  type LogPosition,
  MAX_CHANGE_BYTES,
  type StoreChanges,
} from "./port/changes.ts";
export type { AppRollout, ControlWrites, FunctionPause, StoredControls, WorkerDrain } from "./port/controls.ts";
export { isOutdated, isRefusedForData, levelFor, notVirtual, StoreError, type StoreFailure } from "./port/errors.ts";
export {
  type CronTick,
  cronKey,
  EVENT_KEY_MS,
  type EventScan,
  type EventScanPage,
  type FlowRule,
  type IntakeItem,
  type IntakeOutcome,
  type IntakeRun,
  type IntakeSource,
  type NewCron,
  type NewEvent,
  type NewWait,
  type OpenWindow,
  type RegisteredCron,
  readWindowKey,
  type ScheduledFunction,
  type SkippedBy,
  type StoredCron,
  type StoredWait,
  scheduleText,
  type WaitKind,
  type WaitQuery,
  type WindowEntry,
  type WindowKey,
  type WindowKind,
} from "./port/events.ts";
export type {
  GraphEventPattern,
  GraphName,
  GraphRunMark,
  GraphTriggers,
  PublishedGraph,
} from "./port/graph-names.ts";
export {
  GRAPH_CRON_APP,
  type GraphListFilter,
  type GraphPublication,
  type GraphPublicationOutcome,
  type GraphPut,
  type GraphPutOutcome,
  type GraphVersion,
  graphCronOwner,
  graphOfCron,
  type ListedGraph,
  type ListedGraphVersion,
  type StoredGraph,
  type StoreGraphs,
} from "./port/graphs.ts";
export {
  type LimitedJob,
  type LimitReads,
  type LimitUse,
  type ListedCron,
  MAX_LIMITED_JOBS,
  MAX_LISTED_CRONS,
} from "./port/limits.ts";
export type {
  CommitsLost,
  ConnectionFilter,
  DatabaseHealth,
  EventDetail,
  EventFilter,
  EventKey,
  EventPage,
  EventView,
  GraphRunKey,
  HistoryLoss,
  JobView,
  LostRun,
  QueueDepth,
  RunDetail,
  RunEnd,
  RunFilter,
  RunPage,
  StoreReads,
  StoreStats,
} from "./port/reads.ts";
export type {
  AppRecord,
  ConnectionMark,
  ConnectionRecord,
  Deployment,
  FunctionRecord,
  ListedConnection,
  PartitionRecord,
  Registration,
  StoredFunction,
  StoredRegistry,
} from "./port/registry.ts";
export type { DeleteOutcome, Descendant, RunOrigin, StoreRepairs } from "./port/repair.ts";
export type {
  PruneOptions,
  PrunePreview,
  PruneProgress,
  Retention,
  RetentionPolicy,
  RunHold,
  TableSize,
} from "./port/retention.ts";
export type { CommitOutcome, LostWhy, Store, Transition, Wake } from "./port/store.ts";
export {
  MAX_AHEAD,
  MAX_OPEN_WINDOWS,
  MAX_WAITING_FACT,
  type OpenJob,
  type OpenRun,
  OVERDUE_NAMED,
  type OverdueWork,
  type PlacesAsked,
  type PlacesTaken,
  type QueuePlace,
  type SlotUse,
  type UnmovedPage,
  WAITING_KINDS,
  type WaitingFact,
  type WaitingReads,
} from "./port/waiting.ts";
export {
  type ClaimedJob,
  type ClaimLimits,
  type ClaimRequest,
  type Fence,
  type HeadPatch,
  type JobKind,
  type Lane,
  type LaneAdoption,
  type LanesAdopted,
  type LeaseExtension,
  type LeaseRelease,
  type LimitedClaim,
  type LimitedClaimRequest,
  LOG_KINDS,
  type LogKind,
  type LogRow,
  type NewJob,
  type NewRun,
  type Paced,
  type RecallWant,
  RUN_STATUSES,
  type RunHead,
  type RunStatus,
  type StoredLogRow,
  type StoredRun,
} from "./port/work.ts";
export {
  ACKNOWLEDGED_LIMITS,
  type AcknowledgedLimits,
  AcknowledgedUnits,
  type Forgotten,
  type ForgottenUnit,
  runsOf,
} from "./rules/acknowledged.ts";
export { type CheckedStore, checkInvariants, type InvariantReport } from "./rules/check-invariants.ts";
export { checkTransition } from "./rules/check-transition.ts";
export { comesAlone } from "./rules/comes-alone.ts";
export { type CommitHistograms, commitHistograms } from "./rules/commit-histograms.ts";
export { DEFAULT_ENVIRONMENT, environmentOf, plainName, qualify } from "./rules/environment.ts";
export { expectRows } from "./rules/expected-rows.ts";
export { factKeyOf } from "./rules/fact-key.ts";
export {
  eventKeyOf,
  type FlowRuleKey,
  type FlowRuleState,
  type FlowRules,
  flowRuleKeyOf,
  joinWindow,
  keyOfFlowRule,
  passFlowRules,
  takeWindow,
} from "./rules/flow-rules.ts";
export { foldHead } from "./rules/fold-head.ts";
export { functionTaken } from "./rules/function-taken.ts";
export { type AnnouncedJob, functionsToAnnounce, jobsOfItem } from "./rules/jobs-to-announce.ts";
export { lanesOf } from "./rules/lanes-of.ts";
export type { LockedJob, LockedRows, LockedRun } from "./rules/locked-rows.ts";
export { LOG_BLOCK, placesOf } from "./rules/log-places.ts";
export { DEADLINE, FINISH_TIMEOUT, isRunTimer, movesOn, waitMovesOn } from "./rules/moves-on.ts";
export { createOptimisticBackoff, type OptimisticBackoff } from "./rules/optimistic-backoff.ts";
export { type BatchAnswer, outcomesOf } from "./rules/outcome.ts";
export { MAX_PAGE_BYTES, upToPageBytes } from "./rules/page-bytes.ts";
export {
  type BatchPlan,
  isEnded,
  type LogAddition,
  type Needs,
  needsOf,
  planBatch,
  type Unit,
  type UnitOutcome,
} from "./rules/plan.ts";
export { queuesOf } from "./rules/queues-of.ts";
export { lossNote, Resend } from "./rules/resend.ts";
export { isPastRetention, LEAST_EVENT_MS, retentionOf, shortestMs } from "./rules/retention.ts";
export { type BatchLimits, takeBatch } from "./rules/take-batch.ts";
export type { EventWrite, HeadWrite, LogWrite, RunWrite, WaitKey, WriteSet } from "./rules/write-set.ts";
