import type { StoredLogRow } from "./log.ts";
import type { ListedConnection } from "./registration.ts";
import type { RunHead } from "./run.ts";
import type { RunStatus } from "./run-status.ts";
import type { StoredWait } from "./wait.ts";

/** What people and dashboards read. */
export interface StoreReads {
  /** Newest first. `cursor` is the `nextCursor` of the page before. */
  listRuns(filter: RunFilter): Promise<RunPage>;
  getRun(runId: string): Promise<RunDetail | null>;
  /** Newest first. */
  listEvents(filter: { readonly limit: number; readonly cursor?: string; readonly name?: string }): Promise<EventPage>;
  getEvent(eventId: string): Promise<EventDetail | null>;
  listConnections(): Promise<readonly ListedConnection[]>;
  /** How many jobs there are by what they wait for. */
  queueDepth(): Promise<QueueDepth>;
  /** A cheap round trip, for readiness: one try, over within two seconds. */
  ping(): Promise<void>;
}

export interface RunFilter {
  /** Only of this one; default: of all. */
  readonly environment?: string;
  readonly status?: RunStatus;
  readonly functionId?: string;
  readonly eventId?: string;
  /** 1 to 1000. */
  readonly limit: number;
  readonly cursor?: string;
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
}

export interface RunDetail {
  readonly head: RunHead;
  readonly log: readonly StoredLogRow[];
  readonly jobs: readonly JobView[];
  readonly waits: readonly StoredWait[];
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
}
