/** What the API answers, as far as the page reads it; `GET /v1/openapi.json` has all of it. */

export const STATUSES = ["PENDING", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELLED"] as const;
export type Status = (typeof STATUSES)[number];

const ENDED: ReadonlySet<string> = new Set<Status>(["COMPLETED", "FAILED", "CANCELLED"]);
export const isEnded = (status: string): boolean => ENDED.has(status);

export interface Waiting {
  readonly reason: string;
  readonly message: string;
  readonly untilMs: number | null;
  readonly step: string | null;
  readonly runId: string | null;
  readonly instanceId: string | null;
}

/** The graph that a run is of. */
export interface GraphOfRun {
  /** Null: it is not stored any more, or never was. */
  readonly id: string | null;
  readonly tenant: string | null;
  readonly version: number | null;
  readonly test: boolean;
}

export interface Run {
  readonly id: string;
  readonly functionId: string;
  readonly appId: string;
  readonly environment: string;
  readonly appVersion: string;
  readonly status: Status;
  readonly eventId: string;
  readonly eventName: string;
  readonly output: unknown;
  readonly error: unknown;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  readonly waiting?: Waiting | null;
  /** A gateway of an earlier version does not say. */
  readonly graph?: GraphOfRun | null;
}

export interface RunPage {
  readonly runs: readonly Run[];
  readonly nextCursor: string | null;
}

export interface FailedAttempt {
  readonly attempt: number;
  readonly atMs: number;
  readonly error: unknown;
}

export interface Step {
  readonly id: string;
  readonly name: string | null;
  readonly op: string;
  readonly status: "planned" | "waiting" | "retrying" | "completed" | "failed";
  readonly attempt: number;
  readonly failedAttempts: readonly FailedAttempt[];
  readonly startedMs: number | null;
  readonly durationMs: number | null;
  readonly openedMs: number | null;
  readonly dueMs: number | null;
  readonly endedMs: number | null;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly kept?: boolean;
  /** It undoes another step, or is the one that says why steps are undone. */
  readonly compensation?: boolean;
  /** A new run can go on from it. A gateway of an earlier version does not say so. */
  readonly forkable?: boolean;
  readonly edited?: boolean;
}

/** The run has ended without it: nothing of it goes on or is waited for any more. */
export const isUnfinished = (run: Pick<Run, "status">, { status }: Pick<Step, "status">): boolean =>
  isEnded(run.status) && status !== "completed" && status !== "failed";

/** While the main thread of the worker that had the run did not move. */
export interface Stall {
  readonly atMs: number;
  readonly stalledMs: number;
  readonly ended: boolean;
  readonly instanceId?: string;
  readonly stepId?: string;
  readonly location?: string;
  readonly codeName?: string;
  readonly stack?: string;
}

export interface Fact {
  readonly seq: number;
  readonly atMs: number;
  readonly kind: string;
  readonly key: string;
  readonly attempt: number;
  readonly iteration: number;
  readonly data: unknown;
}

export interface RunDetail extends Run {
  readonly event: unknown;
  readonly parent: { readonly runId: string; readonly key: string } | null;
  readonly rerunOf: string | null;
  readonly forkedFrom: { readonly runId: string; readonly step: string } | null;
  readonly descendants: readonly { readonly runId: string; readonly kind: string; readonly step: string | null }[];
  readonly continuedFrom: string | null;
  readonly continuedAs: string | null;
  readonly deadlineMs: number | null;
  readonly compensating: boolean;
  /** Neither is said by a gateway of an earlier version. */
  readonly resumable?: boolean;
  readonly compensationsLeft?: boolean;
  readonly steps: readonly Step[];
  readonly stalls: readonly Stall[];
  readonly leasesLost: number;
  readonly maxAttempts: number | null;
  readonly log?: readonly Fact[];
}

export interface Trigger {
  readonly type?: string;
  readonly pattern?: string;
  readonly event?: string;
  readonly cron?: string;
  readonly expression?: string | null;
}

export interface FunctionView {
  readonly id: string;
  readonly uuid: string;
  readonly appId: string;
  readonly active: boolean;
  readonly appVersion: string;
  readonly versions: readonly string[];
  readonly queue: string;
  readonly triggers: readonly Trigger[];
  readonly maxAttempts: number;
}

export interface BulkJob {
  readonly id: string;
  readonly action: string;
  readonly status: "RUNNING" | "DONE" | "STOPPED";
  readonly total: number | null;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: readonly string[];
}

/** What flow control and time limits a function has: as it was registered. */
export interface FunctionDetail extends FunctionView {
  readonly paused: boolean;
  readonly pause: { readonly sinceMs: number; readonly note: string | null } | null;
  readonly deadlineMs: number | null;
  readonly finishTimeoutMs: number | null;
  readonly startTimeoutMs: number | null;
  readonly concurrency: readonly object[];
  readonly throttle: object | null;
  readonly rateLimits: readonly object[];
  readonly debounce: object | null;
  readonly batchEvents: object | null;
  readonly singleton: object | null;
  readonly priority: string | null;
  readonly cancelOn: readonly object[];
}

export interface Partition {
  readonly functions: readonly string[];
  readonly capacity: number;
  readonly inFlight: number | null;
}

export interface Worker {
  readonly connectionId: string;
  readonly gatewayId: string;
  readonly instanceId: string;
  readonly apps: readonly string[];
  readonly status: string;
  readonly drained: boolean;
  readonly connectedMs: number;
  readonly queues: readonly string[];
  readonly capacity: number;
  readonly inFlight: number | null;
  readonly partitions: readonly Partition[];
  /** For how long nothing was heard of it, or of its gateway; a gateway of an earlier version does not say. */
  readonly silentMs?: number;
  /** Null: another gateway has it. */
  readonly condition: WorkerCondition | null;
}

export interface WorkerCondition {
  readonly heartbeatMs: number;
  readonly silentMs: number;
  readonly roundTripMs: number | null;
  readonly extensions: readonly string[];
  readonly stalls: readonly (Stall & { readonly runId: string | null; readonly cause?: string })[];
  /** Null: it says nothing of itself. */
  readonly state: WorkerState | null;
}

/** The threads that isolated code runs in. */
export interface Isolation {
  readonly threads: number;
  readonly busy: number;
  readonly queued: number;
  readonly oldestMs: number | null;
  readonly overruns: number;
  readonly crashes: number;
  readonly recycled: number;
  readonly abandoned: number;
}

export interface WorkerState {
  readonly ageMs: number;
  readonly phase: string;
  readonly mainLagMs: number;
  readonly roundTripMs: number | null;
  readonly unansweredHeartbeats: number;
  readonly inFlight: number;
  readonly requests: readonly {
    readonly requestId: string;
    readonly runId: string;
    readonly functionSlug: string;
    readonly replied: boolean;
    readonly ageMs: number;
    readonly leaseAgeMs: number;
  }[];
  readonly outboxCount: number;
  readonly outboxBytes: number;
  readonly outboxFull: boolean;
  readonly reconnectAttempts: number;
  readonly crashes: number;
  readonly lastErrorCode: string;
  readonly lastError: string;
  readonly stalls: number;
  readonly stallsUnseen: boolean;
  readonly logsDropped: number;
  readonly isolation: Isolation | null;
  readonly process: {
    readonly pid: number;
    readonly rssBytes: number;
    readonly cpuMs: number;
    readonly uptimeMs: number;
    readonly cpuShare: number | null;
  };
  readonly transitions: readonly {
    readonly atMs: number;
    readonly event: string;
    readonly from: string;
    readonly to: string;
  }[];
}
