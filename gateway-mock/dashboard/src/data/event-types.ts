/** Events, schedules and limits as the API answers them. */
import type { Status } from "./types.ts";

export interface ListedEvent {
  readonly id: string;
  readonly name: string;
  readonly receivedMs: number;
  readonly runIds: readonly string[];
  readonly runCount: number;
}

export interface EventPage {
  readonly events: readonly ListedEvent[];
  readonly nextCursor: string | null;
}

export interface StoredEvent {
  readonly id: string;
  readonly name: string;
  readonly tsMs: number;
  readonly receivedMs: number;
  readonly event: unknown;
  readonly runIds: readonly string[];
  readonly collected: readonly { readonly functionId: string; readonly message: string }[];
}

export interface Schedule {
  readonly cron: string;
  readonly functionId: string | null;
  readonly graph: { readonly id: string; readonly tenant: string; readonly version: number } | null;
  readonly paused: boolean;
  readonly nextMs: number;
  readonly dueMs: number | null;
  readonly last: {
    readonly runId: string;
    readonly status: Status;
    readonly createdMs: number;
    readonly endedMs: number | null;
  } | null;
}

export interface LimitedRun {
  readonly runId: string;
  readonly functionId: string;
  readonly sinceMs: number;
}

export interface KeyInUse {
  readonly key: string | null;
  readonly taken: number;
  readonly holders: readonly LimitedRun[];
  readonly waiting: number;
  readonly waiters: readonly LimitedRun[];
  readonly nextStartMs: number | null;
}

export interface LimitInUse {
  readonly functionId: string;
  readonly kind: "concurrency" | "throttle";
  readonly key: string | null;
  readonly limit: number;
  readonly scope?: "fn" | "env" | "account";
  readonly burst?: number;
  readonly periodMs?: number;
  readonly uses: readonly KeyInUse[];
  readonly isCut: boolean;
}
