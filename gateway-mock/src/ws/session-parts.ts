/**
 * What a session needs from outside: socket, dispatcher, clock, settings. The tests and the simulation give it their
 * own.
 */
import type { Duplex } from "node:stream";
import type { Clock, Log, Timers } from "@holdfast/core";
import type { WorkerConnect, WorkerFrame } from "@holdfast/protocol";
import type { AppRecord } from "@holdfast/store";
import type { WebSocket } from "ws";
import type { AttachedWorker, WorkerSession } from "../dispatch/index.ts";

import type { ConnectionStatus, SessionInfo } from "./connection-list.ts";
import type { HelloRules } from "./hello.ts";
import type { IntervalOverrides } from "./intervals.ts";

/** What a session takes of an accepted socket of `ws`, and of the stream below it. */
export type SessionSocket = Pick<
  WebSocket,
  "on" | "send" | "close" | "terminate" | "readyState" | "OPEN" | "bufferedAmount"
> &
  Partial<Pick<WebSocket, "ping">>;
export type SessionStream = Pick<Duplex, "cork" | "uncork"> & { on(event: "drain", listener: () => void): unknown };

/** What a session needs of the engine. */
export interface SessionDispatcher {
  register(apps: readonly AppRecord[], startedMs?: number): Promise<void>;
  attach(session: WorkerSession, open: boolean): AttachedWorker;
}

export interface SessionSettings {
  readonly hello: HelloRules;
  readonly intervals: IntervalOverrides;
  readonly strict: boolean;
  readonly missedHeartbeats: number;
  readonly helloMs: number;
  readonly readinessMs: number;
  readonly drainMs: number;
  /** Requests wait while more than this is on its way to the peer. */
  readonly roomBytes: number;
  /** A peer that does not read is dropped when this much waits for it. */
  readonly maxBufferedBytes: number;
}

export interface SessionParts {
  readonly dispatcher: SessionDispatcher;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly settings: SessionSettings;
  /** Uses up the session token of a worker that is about to be accepted; false when it was used before. */
  redeem(connect: WorkerConnect): Promise<boolean>;
  /** For lines about a peer that is not accepted yet. */
  readonly pendingLog: Log;
  /** `log` is that of the session. */
  onStatus(info: SessionInfo, status: ConnectionStatus, log: Log): Promise<void>;
  onAccepted(): void;
  /** Counts a frame that a worker has sent. */
  onFrame(kind: WorkerFrame["kind"] | "UNKNOWN"): void;
}
