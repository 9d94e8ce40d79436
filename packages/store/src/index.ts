/** What the gateway asks of a store, and the rules that every store keeps. Pure. */

export { DEFAULT_ENVIRONMENT, environmentOf, plainName, qualify } from "./port/environment.ts";
export {
  type CronTick,
  cronKey,
  type FlowRule,
  type IntakeSource,
  type LimitedClaim,
  type LimitedClaimRequest,
  type NewCron,
  type OpenWindow,
  type RecallWant,
  type RegisteredCron,
  readWindowKey,
  type ScheduledFunction,
  type StoredCron,
  scheduleText,
  type WindowEntry,
  type WindowKey,
} from "./port/flow.ts";
export type { DatabaseHealth } from "./port/health.ts";
export type { IntakeItem, IntakeOutcome, IntakeRun, NewEvent } from "./port/intake.ts";
export type { ClaimedJob, ClaimRequest, Fence, JobKind, LeaseExtension, LeaseRelease, NewJob } from "./port/job.ts";
export type { ClaimLimits, Lane } from "./port/lane.ts";
export type { LogKind, LogRow, StoredLogRow } from "./port/log.ts";
export type {
  AppRecord,
  ConnectionRecord,
  Deployment,
  FunctionRecord,
  ListedConnection,
  StoredFunction,
  StoredRegistry,
} from "./port/registration.ts";
export type { HeadPatch, NewRun, RunHead, StoredRun } from "./port/run.ts";
export { RUN_STATUSES, type RunStatus } from "./port/run-status.ts";
export type { Store } from "./port/store.ts";
export type {
  EventDetail,
  EventPage,
  EventView,
  JobView,
  QueueDepth,
  RunDetail,
  RunFilter,
  RunPage,
  StoreReads,
} from "./port/store-reads.ts";
export type { CommitOutcome, LostWhy, Transition } from "./port/transition.ts";
export type { NewWait, StoredWait, WaitKind, WaitQuery } from "./port/wait.ts";
export type { Wake } from "./port/wake.ts";
export { checkTransition } from "./rules/check-transition.ts";
export { expectRows } from "./rules/expected-rows.ts";
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
export type { LockedJob, LockedRows, LockedRun } from "./rules/locked-rows.ts";
export { createOptimisticBackoff, type OptimisticBackoff } from "./rules/optimistic-backoff.ts";
export { outcomesOf } from "./rules/outcome.ts";
export {
  type BatchPlan,
  isEnded,
  type Needs,
  needsOf,
  planBatch,
  type RowOfRun,
  rowKeyOf,
  type Unit,
  type UnitOutcome,
} from "./rules/plan.ts";
export { type BatchLimits, takeBatch } from "./rules/take-batch.ts";
export type { EventWrite, HeadWrite, LogWrite, RunWrite, WaitKey, WriteSet } from "./rules/write-set.ts";
