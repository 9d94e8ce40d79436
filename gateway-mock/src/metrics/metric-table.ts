/**
 * Every metric of `GET /metrics`: its name, what it says, and where it is read. Names and labels are part of the
 * product: dashboards and alerts are built on them, and `docs/metrics.md` lists them from here.
 */
import { DEFAULT_ENVIRONMENT_NAME } from "@holdfast/core";
import { environmentOf, plainName, type TableSize } from "@holdfast/store";
import type { FunctionCount } from "../dispatch/index.ts";
import { gauge, type MetricRow } from "./metric-row.ts";
import type { Labelled, MetricSources } from "./metric-sources.ts";
import { WORKERS } from "./worker-metrics.ts";

const END_STATUSES = ["COMPLETED", "FAILED", "CANCELLED"] as const;

type Count = keyof MetricSources["dispatcher"];
type StoreCount = Exclude<keyof MetricSources["store"], "commitSeconds" | "commitUnits">;

const counted = (name: string, count: Count, help: string): MetricRow => ({
  name: `holdfast_${name}_total`,
  kind: "counter",
  help,
  read: ({ dispatcher }) => dispatcher[count],
});

const stored = (name: string, count: StoreCount, help: string): MetricRow => ({
  name: `holdfast_${name}_total`,
  kind: "counter",
  help,
  read: ({ store }) => store[count],
});

const CONNECTIONS: readonly MetricRow[] = [
  gauge("workers", "Workers that are connected to this gateway.", ({ dispatcher }) => dispatcher.workers),
  gauge("sockets", "Open sockets of workers, including those that are not accepted yet.", (s) => s.process.sockets),
  {
    name: "holdfast_frames_received_total",
    kind: "counter",
    help: "Frames that workers have sent, by kind; WORKER_HEARTBEAT counts heartbeats.",
    labels: ["kind"],
    read: ({ framesReceived }) => [...framesReceived].map(([kind, value]) => ({ labels: { kind }, value })),
  },
  gauge("watchers", "Clients that follow runs live.", ({ watchers }) => watchers),
  gauge("callers_waiting", "Callers that are waiting for the end of a run.", ({ dispatcher }) => dispatcher.waiting),
  gauge("draining", "1 once this gateway drains and sends its workers elsewhere.", ({ isDraining }) =>
    Number(isDraining),
  ),
];

const EVENTS_AND_RUNS: readonly MetricRow[] = [
  counted("events_received", "eventsReceived", "Events that were received."),
  counted("events_duplicate", "eventsDuplicate", "Events whose id was already stored."),
  counted("runs_created", "runsCreated", "Runs that events started."),
  counted("runs_skipped", "runsSkipped", "Runs held back by a rate limit, an idempotency key or a singleton."),
  counted("window_runs", "windowRuns", "Runs created from debounced or batched events."),
  counted("cron_ticks", "cronTicks", "Runs that schedules started."),
  gauge(
    "runs_in_memory",
    "Runs whose state this gateway has in memory because it is working on them.",
    (s) => s.dispatcher.runsInMemory,
  ),
  gauge(
    "orphans",
    "Runs that have not ended and that no job or wait moves on; should be 0.",
    (s) => s.dispatcher.orphans,
  ),
];

const FUNCTION_LABELS = ["function", "environment"] as const;

/** What is counted of each function. */
function perFunction<T>(
  { functions }: MetricSources,
  valuesOf: (
    count: FunctionCount,
  ) => readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: T }[],
): readonly Labelled<T>[] {
  return [...functions].flatMap(([id, count]) => {
    const about = { function: plainName(id), environment: environmentOf(id) || DEFAULT_ENVIRONMENT_NAME };
    return valuesOf(count).map(({ labels, value }) => ({ labels: { ...about, ...labels }, value }));
  });
}

const FUNCTIONS: readonly MetricRow[] = [
  {
    name: "holdfast_runs_ended_total",
    kind: "counter",
    help: "Runs that ended at this gateway, by status.",
    labels: [...FUNCTION_LABELS, "status"],
    read: (sources) =>
      perFunction(sources, ({ ended }) => END_STATUSES.map((status) => ({ labels: { status }, value: ended[status] }))),
  },
  {
    name: "holdfast_run_duration_seconds",
    kind: "histogram",
    help: "From the creation of a run to its end, sleeps and waits included.",
    labels: FUNCTION_LABELS,
    read: (sources) => perFunction(sources, ({ seconds }) => [{ value: seconds }]),
  },
  {
    name: "holdfast_steps_total",
    kind: "counter",
    help: "Steps that ended, by whether they completed or failed permanently.",
    labels: [...FUNCTION_LABELS, "outcome"],
    read: (sources) =>
      perFunction(sources, ({ stepsCompleted, stepsFailed }) => [
        { labels: { outcome: "completed" }, value: stepsCompleted },
        { labels: { outcome: "failed" }, value: stepsFailed },
      ]),
  },
  {
    name: "holdfast_failed_attempts_total",
    kind: "counter",
    help: "Failed attempts that are retried, of steps or of a handler outside of steps.",
    labels: [...FUNCTION_LABELS, "of"],
    read: (sources) =>
      perFunction(sources, ({ stepAttemptsFailed, passesFailed }) => [
        { labels: { of: "step" }, value: stepAttemptsFailed },
        { labels: { of: "handler" }, value: passesFailed },
      ]),
  },
];

const WORK: readonly MetricRow[] = [
  gauge("requests_in_flight", "Requests that workers of this gateway have in progress.", (s) => s.dispatcher.inFlight),
  counted("dispatches", "dispatches", "Requests sent to workers."),
  counted("claims", "claims", "How often the queue was searched for due jobs."),
  counted("claimed_jobs", "claimedJobs", "Due jobs that were claimed from the queue."),
  counted("leased_on_creation", "leasedOnCreation", "Jobs that went to a worker without a claim."),
  counted("replies", "replies", "Replies of workers."),
  counted("checkpoints", "checkpoints", "Checkpoints of workers."),
  {
    name: "holdfast_stale_reports_total",
    kind: "counter",
    help: "Reports of workers whose dispatch no longer counted, by kind of report.",
    labels: ["kind"],
    read: ({ dispatcher }) => [
      { labels: { kind: "reply" }, value: dispatcher.repliesStale },
      { labels: { kind: "checkpoint" }, value: dispatcher.checkpointsStale },
    ],
  },
  counted("leases_extended", "leasesExtended", "Leases that workers have extended."),
  counted("leases_refused", "leasesRefused", "Extensions that were refused because the lease had been lost."),
  counted("leases_lost", "leasesLost", "Leases that ended without a report."),
  counted(
    "leases_late",
    "leasesLate",
    "Leases that were too old for their work to be sent, so that it was given back.",
  ),
  counted("acks_missed", "acksMissed", "Requests that no worker acknowledged in time."),
  counted("nacks", "nacks", "Requests that workers sent back."),
  counted("foreign_refused", "foreignRefused", "Refused reports of workers on requests that are not theirs."),
  counted("stalls", "stalls", "Reports of blocked main threads."),
  counted("decisions_lost", "casLost", "Decisions that were repeated because the run had changed meanwhile."),
  counted(
    "registry_moved",
    "registryMoved",
    "Decisions that were repeated because the functions had changed meanwhile.",
  ),
];

const QUEUE: readonly MetricRow[] = [
  gauge(
    "queue_jobs",
    "Jobs in the queue of the database: due, leased, or due later.",
    ({ queue }) =>
      queue && (["due", "leased", "later"] as const).map((state) => ({ labels: { state }, value: queue[state] })),
    ["state"],
  ),
  gauge(
    "queue_oldest_due_seconds",
    "How long the oldest due job has been due; 0 when none is.",
    ({ queue }) => queue && (queue.oldestDueMs ?? 0) / 1000,
  ),
  gauge("queue_lanes", "Lanes of functions with limits that have jobs.", ({ queue }) => queue?.lanes ?? null),
  gauge("queue_lane_jobs_due", "Due jobs that wait in lanes for a slot.", ({ queue }) => queue?.dueInLanes ?? null),
];

const TABLE_LABELS = ["table"] as const;
const ofTables = (
  metric: string,
  help: string,
  numberOf: (table: TableSize, nowMs: number) => number | null,
): MetricRow =>
  gauge(
    metric,
    help,
    ({ tables, nowMs }) =>
      tables?.flatMap((one) => {
        const value = numberOf(one, nowMs);
        return value === null ? [] : [{ labels: { table: one.table }, value }];
      }) ?? null,
    TABLE_LABELS,
  );

const TABLES: readonly MetricRow[] = [
  ofTables("table_bytes", "Size of each table with its indexes.", ({ bytes }) => bytes),
  ofTables("table_rows", "Rows of each table, as estimated by the database.", ({ rows }) => rows),
  ofTables("table_partitions", "Table partitions of each table.", ({ partitions }) => partitions),
  ofTables("table_oldest_seconds", "Age of the oldest row of a table, where its ids show it.", ({ oldestMs }, nowMs) =>
    oldestMs === null ? null : Math.max(0, nowMs - oldestMs) / 1000,
  ),
];

const SPANS: readonly MetricRow[] = [
  {
    name: "holdfast_spans_total",
    kind: "counter",
    help: "Spans by outcome: recorded, exported, or lost because the receiver did not accept them. 0 without `otlpEndpoint`.",
    labels: ["outcome"],
    read: ({ spans }) =>
      (["recorded", "exported", "lost"] as const).map((outcome) => ({
        labels: { outcome },
        value: spans?.[outcome] ?? 0,
      })),
  },
];

const STORE: readonly MetricRow[] = [
  stored("commits", "batches", "Group commits."),
  {
    name: "holdfast_commit_duration_seconds",
    kind: "histogram",
    help: "How long group commits took, from their first statement to the answer.",
    read: ({ store }) => store.commitSeconds,
  },
  {
    name: "holdfast_commit_units",
    kind: "histogram",
    help: "How many writes (events, decisions) shared a group commit.",
    read: ({ store }) => store.commitUnits,
  },
  gauge("commits_queued", "Writes that wait for the next group commit.", ({ store }) => store.queued),
  stored("commit_statements", "statements", "Statements sent by group commits."),
  stored("commit_retries", "batchRetries", "Group commits that were retried."),
  stored("log_rows", "logRows", "Rows written to the log of runs."),
  stored("stale_writes", "staleWrites", "Writes that were rejected by a fence."),
  stored("duplicate_rows", "duplicateRows", "Facts that were already in the log."),
  stored("commits_lost", "lostBatches", "Acknowledged group commits that the database has lost."),
  stored("writes_lost", "lostWrites", "Writes in these commits, as far as they are known."),
  stored("writes_restored", "restoredWrites", "Writes of these that were sent again and are stored."),
  stored("runs_incomplete", "incompleteRuns", "Runs with a lost write that could not be sent again."),
  gauge("database_up", "1 while the database answers.", ({ database }) => Number(database.ok)),
  {
    name: "holdfast_database_outages_total",
    kind: "counter",
    help: "How often the database was unavailable.",
    read: ({ database }) => database.outages,
  },
  {
    name: "holdfast_database_outage_seconds_total",
    kind: "counter",
    help: "How long the database was unavailable in total.",
    read: ({ database }) => database.awayMsTotal / 1000,
  },
  {
    name: "holdfast_database_conflicts_total",
    kind: "counter",
    help: "Transactions that the database rolled back: deadlocks, serialization failures, cancelled statements.",
    read: ({ database }) => database.conflicts,
  },
];

/** Names that Prometheus' own clients use, so that ready-made boards find them. */
const PROCESS: readonly MetricRow[] = [
  gauge(
    "info",
    "Always 1; the label is the version of this gateway.",
    ({ version }) => [{ labels: { version }, value: 1 }],
    ["version"],
  ),
  {
    name: "process_cpu_seconds_total",
    kind: "counter",
    help: "CPU time used by this process.",
    read: ({ process }) => process.cpuSeconds,
  },
  {
    name: "process_resident_memory_bytes",
    kind: "gauge",
    help: "Resident memory of this process.",
    read: ({ process }) => process.rssBytes,
  },
  {
    name: "nodejs_heap_size_used_bytes",
    kind: "gauge",
    help: "Memory in use on the JavaScript heap.",
    read: ({ process }) => process.heapUsedBytes,
  },
  gauge("uptime_seconds", "How long this process has been running.", ({ process }) => process.uptimeMs / 1000),
  gauge(
    "event_loop_delay_seconds",
    "How late the event loop has been since the start of this process.",
    ({ process: { eventLoopDelayMs: delay } }) => [
      { labels: { quantile: "0.5" }, value: delay.p50 / 1000 },
      { labels: { quantile: "0.99" }, value: delay.p99 / 1000 },
      { labels: { quantile: "1" }, value: delay.max / 1000 },
    ],
    ["quantile"],
  ),
];

export const METRICS: readonly MetricRow[] = [
  ...CONNECTIONS,
  ...EVENTS_AND_RUNS,
  ...FUNCTIONS,
  ...WORK,
  ...WORKERS,
  ...QUEUE,
  ...TABLES,
  ...STORE,
  ...SPANS,
  ...PROCESS,
];
