/**
 * Owns what the dispatcher knows of one connected worker: its session, what it may run, what it holds, whether it can be
 * given work now. `workers.ts` indexes them by function.
 */
import type { Log } from "@holdfast/core";
import type { Extension, GatewayFrame } from "@holdfast/protocol";
import type { AppRecord } from "@holdfast/store";

/** The session behind a connected worker: the port that the socket's side fills. */
export interface WorkerSession {
  /** Connection id. */
  readonly id: string;
  /** Of the process behind it; the same after a reconnect. */
  readonly instanceId: string;
  readonly environment: string;
  /** The functions it runs. */
  readonly functionIds: readonly string[];
  /** What it has registered. */
  readonly apps: readonly AppRecord[];
  /** Requests that it may hold at once. */
  readonly capacity: number;
  /** It has named its capacity. */
  readonly isLimited: boolean;
  readonly extensions: ReadonlySet<Extension>;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  readonly extendLeaseMs: number;
  /** When it was last heard of, monotonic. */
  readonly seenMs: number;
  /** Requests wait for room on its socket. */
  readonly congested: boolean;
  /** For lines about what it sent, so that it cannot write too many. */
  readonly log: Log;
  /** A frame of an extension that was not agreed on is not sent. */
  send(frame: GatewayFrame): void;
  /**
   * Sends a request once the socket has room, in the order of the calls: at once, mostly. `make` is called right
   * before; null: it is not wanted any more.
   */
  sendWhenRoom(make: () => GatewayFrame | null): void;
}

/** A worker that is connected to this gateway, and what it holds. `Workers` changes it, and counts what it changes. */
export interface ConnectedWorker {
  readonly id: string;
  readonly session: WorkerSession;
  readonly functionIds: Set<string>;
  /** Those that it has registered. */
  readonly appIds: ReadonlySet<string>;
  /** The version of the app behind each function. */
  readonly versions: ReadonlyMap<string, string>;
  readonly capacity: number;
  readonly heartbeatMs: number;
  readonly seenMs: number;
  /** Requests it holds or will be sent as soon as they are committed. */
  readonly inFlight: number;
  readonly requests: Set<string>;
  /** False: takes no new work. */
  readonly open: boolean;
  /** Refused work a moment ago: nothing for it before this instant, monotonic. */
  readonly restUntilMs: number;
  /** Silent for longer it is given nothing. */
  readonly maxSilentMs: number;
}

/** Picks who gets the work; pure, given by the socket's side. */
export type ChooseWorker = (candidates: Iterable<ConnectedWorker>, nowMs: number) => ConnectedWorker | undefined;

export const isSilent = (worker: ConnectedWorker, nowMs: number): boolean => nowMs - worker.seenMs > worker.maxSilentMs;

/** For a job that is leased on creation to this worker. */
export function leaseOf({ session }: ConnectedWorker, gatewayId: string): { gatewayId: string; leaseMs: number } {
  return { gatewayId, leaseMs: session.leaseMs };
}
