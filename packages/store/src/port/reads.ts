/**
 * What people, dashboards and probes read of a store; nothing here decides anything. The HTTP API's lists and details
 * (gateway-mock/src/http) and the metrics are made from it.
 */
import type { HistogramCounts } from "@holdfast/core";
import type { StoredWait } from "./events.ts";
import type { ListedConnection } from "./registry.ts";
import type { PrunePreview, RetentionPolicy, RunHold, TableSize } from "./retention.ts";
import type { RunHead, RunStatus, StoredLogRow } from "./work.ts";

/** What people and dashboards read. */
export interface StoreReads {
  /** Newest first. `cursor` is the `nextCursor` of the page before. */
  listRuns(filter: RunFilter): Promise<RunPage>;
  getRun(runId: string): Promise<RunDetail | null>;
  /** Which of these runs there are, and which of them have ended. Calls of many share statements. */
  endsOf(runIds: readonly string[]): Promise<readonly RunEnd[]>;
  /** Newest first. */
  listEvents(filter: { readonly limit: number; readonly cursor?: string; readonly name?: string }): Promise<EventPage>;
  getEvent(eventId: string): Promise<EventDetail | null>;
  listConnections(): Promise<readonly ListedConnection[]>;
  /** How many jobs there are by what they wait for. Of a long queue the count may be some seconds old. */
  queueDepth(): Promise<QueueDepth>;
  /** Of every table; may be some seconds old. */
  tableSizes(): Promise<readonly TableSize[]>;
  /** What `prune` would remove now, of one environment or of all. Takes longer the more old runs there are. */
  previewPrune(policy: RetentionPolicy, environment?: string): Promise<PrunePreview>;
  /** A cheap round trip, for readiness: one try, over within two seconds. */
  ping(): Promise<void>;
}

export interface RunFilter {
  /** Only of this one; default: of all. */
  readonly environment?: string;
  /** Of one of these. */
  readonly status?: RunStatus | readonly RunStatus[];
  readonly functionId?: string;
  readonly eventId?: string;
  readonly eventName?: string;
  /** Created at this time or later. */
  readonly createdAfterMs?: number;
  readonly createdBeforeMs?: number;
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

export interface EventPage {
  readonly events: readonly EventView[];
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
}
