/**
 * What the dispatcher needs from outside (store, clock, timers, HTTP calls, settings) and what it counts.
 * `../gateway-core.ts` fills it, the simulation fills it with its own.
 */
import type { BackoffPolicy, Clock, Log, Random, Timers } from "@holdfast/core";
import type { VersionPolicy } from "@holdfast/engine";
import { WIRE_LIMITS } from "@holdfast/protocol";
import type { Store } from "@holdfast/store";

import type { OnNotice } from "./notices.ts";
import type { SpanSink } from "./span-facts.ts";
import type { ChooseWorker } from "./workers/connected-worker.ts";

/** What the dispatcher is given. */
export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly chooseWorker: ChooseWorker;
  /** Called for what happens to events, runs and workers. */
  readonly onNotice?: OnNotice;
  /** Where spans go; without it none is made. */
  readonly spans?: SpanSink;
  /** Makes an HTTP call for a step; never rejects. */
  readonly call: (call: OutgoingCall, signal: AbortSignal) => Promise<CallOutcome>;
  readonly settings: DispatcherSettings;
}

export interface OutgoingCall {
  /** http or https. */
  readonly url: string;
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface CallTrouble {
  readonly ok: false;
  readonly code: "FETCH_FAILED" | "FETCH_TIMEOUT" | "FETCH_REFUSED" | "FETCH_TOO_LARGE";
  /** It may work when it is tried again. */
  readonly retry: boolean;
  readonly message: string;
}

export type CallOutcome =
  | {
      readonly ok: true;
      /** After redirects. */
      readonly url: string;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    }
  | CallTrouble;

export interface DispatcherSettings {
  readonly gatewayId: string;
  readonly retry: BackoffPolicy;
  readonly maxSteps: number;
  /** Characters of a run's events and step results. */
  readonly maxStateLength: number;
  /** A request that is not acknowledged after this goes elsewhere. */
  readonly requestAckMs: number;
  /** How long an instance may take to come back before its leases are released. */
  readonly reconnectGraceMs: number;
  /** How long leases run on at least, from a start at which no other gateway is there. */
  readonly renewedLeaseMs: number;
  /** Bounds of the wait between two looks into the queue. */
  readonly pollMinMs: number;
  readonly pollMaxMs: number;
  /** Most jobs of one function that are claimed at once. */
  readonly maxClaim: number;
  /** A run whose lease was lost so often in a row without progress is failed. */
  readonly maxLosses: number;
  readonly versionPolicy: VersionPolicy;
  /**
   * For how long a deployment must have been away to come back as its app's newest, with a process that began since.
   * Default: a minute, so that a process of an older deployment that was started again replaces nothing.
   */
  readonly awayMs?: number;
  /** Callers that may wait for the end of a run at a time. */
  readonly maxWaiting: number;
  /** As strict as the reference's gateway with work whose worker is silent or gone: see `docs/plain-gateway.md`. */
  readonly plain: boolean;
}

export const DEFAULT_DISPATCHER_SETTINGS = {
  retry: { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.2 },
  maxSteps: 1000,
  maxStateLength: WIRE_LIMITS.maxRunStateLength,
  pollMinMs: 100,
  pollMaxMs: 1000,
  maxClaim: 200,
  maxLosses: 20,
  renewedLeaseMs: 20_000,
  versionPolicy: "prefer",
  maxWaiting: 20_000,
  plain: false,
} as const;

/** Counters since the start. */
export interface DispatcherCounters {
  eventsReceived: number;
  eventsDuplicate: number;
  runsCreated: number;
  /** Held back by a rate limit, an idempotency key or a singleton. */
  runsSkipped: number;
  /** Made of debounced or batched events. */
  windowRuns: number;
  cronTicks: number;
  runsEnded: number;
  dispatches: number;
  leasedOnCreation: number;
  claims: number;
  claimedJobs: number;
  replies: number;
  repliesStale: number;
  checkpoints: number;
  checkpointsStale: number;
  casLost: number;
  /** What was decided again because the functions had changed. */
  registryMoved: number;
  leasesExtended: number;
  leasesRefused: number;
  /** What workers said of requests that are not theirs. */
  foreignRefused: number;
  leasesLost: number;
  /** Too old for their work to leave: it went back. */
  leasesLate: number;
  acksMissed: number;
  nacks: number;
  stalls: number;
}

export function newCounters(): DispatcherCounters {
  return {
    eventsReceived: 0,
    eventsDuplicate: 0,
    runsCreated: 0,
    runsSkipped: 0,
    windowRuns: 0,
    cronTicks: 0,
    runsEnded: 0,
    dispatches: 0,
    leasedOnCreation: 0,
    claims: 0,
    claimedJobs: 0,
    replies: 0,
    repliesStale: 0,
    checkpoints: 0,
    checkpointsStale: 0,
    casLost: 0,
    registryMoved: 0,
    leasesExtended: 0,
    leasesRefused: 0,
    foreignRefused: 0,
    leasesLost: 0,
    leasesLate: 0,
    acksMissed: 0,
    nacks: 0,
    stalls: 0,
  };
}
