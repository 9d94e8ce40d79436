/**
 * What people, dashboards and probes read of a store; nothing here decides anything. The HTTP API's lists and details
 * (gateway-mock/src/http) and the metrics are made from it.
 */
import type { HistogramCounts } from "@holdfast/core";
import type { StoredWait } from "./events.ts";
import type { ListedConnection } from "./registry.ts";
import type { PrunePreview, RetentionPolicy, RunHold, TableSize } from "./retention.ts";
import type { LogRow, RunHead, RunStatus, StoredLogRow } from "./work.ts";

/** What people and dashboards read. */
export interface StoreReads {
  /** Newest first. `cursor` is the `nextCursor` of the page before. */
  listRuns(filter: RunFilter): Promise<RunPage>;
  getRun(runId: string): Promise<RunDetail | null>;
  /** Which of these runs there are, and which of them have ended. Calls of many share statements. */
  endsOf(runIds: readonly string[]): Promise<readonly RunEnd[]>;
  /** Newest first. */
  listEvents(filter: EventFilter): Promise<EventPage>;
  getEvent(eventId: string): Promise<EventDetail | null>;
  /** Those of these ids whose events are stored, in no order. */
  storedEvents(eventIds: readonly string[]): Promise<readonly string[]>;
  /**
   * Ids of the events to which their senders gave these ids, as long as those count; in order. `ofGraphs`: also those of
   * runs of graphs, whichever of the environment they are of.
   */
  eventsOfKeys(keys: readonly EventKey[], ofGraphs?: GraphRunKey): Promise<readonly string[]>;
  /** Newest first. */
  listConnections(filter?: ConnectionFilter): Promise<readonly ListedConnection[]>;
  /** How many jobs there are by what they wait for. Of a long queue the count may be some seconds old. */
  queueDepth(): Promise<QueueDepth>;
  /** Of every table; may be some seconds old. */
  tableSizes(): Promise<readonly TableSize[]>;
  /** What `prune` would remove now, of one environment or of all. Takes longer the more old runs there are. */
  previewPrune(policy: RetentionPolicy, environment?: string): Promise<PrunePreview>;
  /** A cheap round trip, for readiness: one try, over within two seconds. */
  ping(): Promise<void>;
}

/** There may be ten thousand connections: who needs few of them asks for these. */
export interface ConnectionFilter {
  /** Only those of this worker. */
  readonly instanceId?: string;
  /** Only those of other gateways. */
  readonly exceptGatewayId?: string;
}

export interface RunFilter {
  /** Only of this one; default: of all. */
  readonly environment?: string;
  /** Of one of these. */
  readonly status?: RunStatus | readonly RunStatus[];
  readonly functionId?: string;
  /** Of one of these events; of none of them: none. */
  readonly eventIds?: readonly string[];
  readonly eventName?: string;
  /** Of the graph with this uid. */
  readonly graphUid?: string;
  /** Only tests of graphs, or only what is none. */
  readonly test?: boolean;
  /** Created at this time or later. */
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
  /** Only runs whose error, as JSON text, has this text in it; large and small letters are the same. */
  readonly errorText?: string;
  /** 1 to 1000. */
  readonly limit: number;
  readonly cursor?: string;
}

export interface RunEnd {
  readonly id: string;
  readonly functionId: string;
  readonly isEnded: boolean;
}

export interface RunPage {
  readonly runs: readonly RunHead[];
  readonly nextCursor: string | null;
}

export interface JobView {
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  readonly attempt: number;
  readonly epoch: number;
  /** When it is due, or when its lease ends. */
  readonly availableMs: number;
  readonly leasedBy: string | null;
  /** When it was claimed last; null = never. */
  readonly claimedMs: number | null;
  /** No worker has had it: it was not claimed yet, or was put back each time for want of one. */
  readonly isUnplaced: boolean;
}

export interface RunDetail {
  readonly head: RunHead;
  readonly log: readonly StoredLogRow[];
  readonly jobs: readonly JobView[];
  readonly waits: readonly StoredWait[];
  /** It is kept until it is released; null = as long as all runs of its kind. */
  readonly hold: RunHold | null;
}

export interface EventView {
  readonly id: string;
  readonly name: string;
  readonly tsMs: number;
  readonly receivedMs: number;
  readonly payloadJson: string;
}

/** An id that a sender gave to an event of this name (`idempotencyKey`). */
export interface EventKey {
  readonly name: string;
  readonly key: string;
}

/** An id that a caller gave to a run of a graph: it is kept behind the uid of the graph and a line break. */
export interface GraphRunKey extends EventKey {
  /** In which the graphs are. */
  readonly environment: string;
}

export interface EventFilter {
  /** 1 to 1000. */
  readonly limit: number;
  readonly cursor?: string;
  /** Exact, or a beginning before a final "*". */
  readonly name?: string;
  /** Only of this one; default: of all. */
  readonly environment?: string;
}

/** Where events that fit are rare a page may come short: the cursor says where to go on. */
export interface EventPage {
  readonly events: readonly EventDetail[];
  readonly nextCursor: string | null;
}

export interface EventDetail extends EventView {
  readonly runIds: readonly string[];
}

export interface QueueDepth {
  readonly due: number;
  readonly leased: number;
  readonly later: number;
  /** For how long the oldest due job has been due; null when none is. */
  readonly oldestDueMs: number | null;
  /** Of functions with limits: how many lanes have jobs, and how many due jobs wait in them for a slot. */
  readonly lanes: number;
  readonly dueInLanes: number;
}

export interface StoreStats {
  readonly batches: number;
  /** Those that took one round trip; all others took two. */
  readonly optimisticBatches: number;
  readonly transitions: number;
  /** Statements sent by group commits, BEGIN and COMMIT included. */
  readonly statements: number;
  readonly logRows: number;
  /** Transitions that a fence turned away. */
  readonly staleWrites: number;
  readonly duplicateRows: number;
  readonly batchRetries: number;
  /** Batches that the database had acknowledged and has forgotten: it went back, as after a failover. */
  readonly lostBatches: number;
  /** Writes of these, as far as they are known, and those that were sent again and are there. */
  readonly lostWrites: number;
  readonly restoredWrites: number;
  /** Runs of which something could not be sent again. */
  readonly incompleteRuns: number;
  readonly queued: number;
  /** How long group commits took together. */
  readonly commitMs: number;
  /** Of each group commit: how many seconds it took, and how many units it had. */
  readonly commitSeconds: HistogramCounts;
  readonly commitUnits: HistogramCounts;
}

export interface DatabaseHealth {
  /** False: nothing has been answered for a while. Calls wait and are tried again. */
  readonly ok: boolean;
  /** For how long it has been away; 0 when it is not. */
  readonly awayMs: number;
  /** What the last failed call said, when it is away. */
  readonly error: string | null;
  /** Since the start: how often it was away, and for how long altogether. */
  readonly outages: number;
  readonly awayMsTotal: number;
  /**
   * Since the start: transactions and statements that the server undid (deadlock, serialization failure, cancelled).
   */
  readonly conflicts: number;
  /** The last time that it had forgotten what it had acknowledged to this gateway; null: it never did. */
  readonly commitsLost: CommitsLost | null;
}

/** What a database had forgotten when it went back, as after a failover, and what is there again. */
export interface CommitsLost {
  readonly atMs: number;
  /** Commits that are gone, and their writes, as far as they are known. */
  readonly batches: number;
  readonly writes: number;
  /** Writes that were sent again and are there. */
  readonly restored: number;
  /** How many runs it was about. */
  readonly runs: number;
  /** The first few of those of which something is missing. */
  readonly incomplete: readonly string[];
  /** False: it is being sent again. */
  readonly isOver: boolean;
}

/** What became of a loss, for those who keep something of the runs in memory. */
export interface HistoryLoss {
  readonly runs: readonly LostRun[];
  /** Of these the ones of which something is missing. */
  readonly incomplete: readonly LostRun[];
}

/** A run of which the database had forgotten something. */
export interface LostRun {
  readonly runId: string;
  /** Writes of it that were forgotten, and those that are there again. */
  readonly writes: number;
  readonly restored: number;
  /** Facts of those that are not. */
  readonly facts: readonly LogRow[];
}
