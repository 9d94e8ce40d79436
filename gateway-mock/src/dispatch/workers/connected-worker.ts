/**
 * Owns what the dispatcher knows of one connected worker: its session, what it may run, what it holds, whether it can be
 * given work now. `workers.ts` indexes them by function.
 */
import type { Log } from "@holdfast/core";
import type { Extension, GatewayFrame } from "@holdfast/protocol";
import type { AppRecord, PartitionRecord } from "@holdfast/store";

/** `shutdown`: the worker said that it does not come back. `silent`: the gateway dropped it, for want of heartbeats. */
export type SocketEnd = "broken" | "shutdown" | "silent";

/** The session behind a connected worker: the port that the socket's side fills. */
export interface WorkerSession {
  /** Connection id. */
  readonly id: string;
  /** Of the process behind it; the same after a reconnect. */
  readonly instanceId: string;
  readonly environment: string;
  /** The functions it has; which of them it runs is a matter of `queues`. */
  readonly functionIds: readonly string[];
  /** What it has registered. */
  readonly apps: readonly AppRecord[];
  /** The queues that it serves; null: every one. */
  readonly queues: ReadonlySet<string> | null;
  /** Requests that it may hold at once, of the functions that are in no partition. */
  readonly capacity: number;
  /** Parts of its capacity that belong to some of its functions alone. No function is in two of them. */
  readonly partitions: readonly PartitionRecord[];
  /** It has named its capacity. */
  readonly isLimited: boolean;
  readonly extensions: ReadonlySet<Extension>;
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  readonly extendLeaseMs: number;
  /** When it was last heard of, monotonic. */
  readonly seenMs: number;
  /** Of the last ping; undefined: none was answered yet. */
  readonly roundTripMs?: number | undefined;
  /** Requests wait for room on its socket. */
  readonly congested: boolean;
  /** For lines about what it sent, so that it cannot write too many. */
  readonly log: Log;
  /** It is given no new work because it is drained, or is given some again. */
  setDrained(isDrained: boolean): void;
  /** A frame of an extension that was not agreed on is not sent. */
  send(frame: GatewayFrame): void;
  /** What was sent in this turn of the event loop leaves now, not at its end. */
  flush(): void;
  /**
   * Sends a request once the socket has room, in the order of the calls: at once, mostly. `make` is called right
   * before; null: it is not wanted any more.
   */
  sendWhenRoom(make: () => GatewayFrame | null): void;
}

/** A part of a worker's capacity, and the functions that it is for. Places are taken and counted here. */
export interface Partition {
  readonly worker: ConnectedWorker;
  /** The worker's. */
  readonly id: string;
  readonly functionIds: Set<string>;
  readonly capacity: number;
  readonly heartbeatMs: number;
  readonly seenMs: number;
  /** Requests it holds or will be sent as soon as they are committed. */
  readonly inFlight: number;
  /** Takes no new work, whatever the rest of the worker does. */
  readonly isPaused: boolean;
}

/** Picks who gets the work; pure, given by the socket's side. */
export type ChooseWorker = (candidates: Iterable<Partition>, nowMs: number) => Partition | undefined;

/** What only `Workers` changes of these, so that its totals stay true. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A worker that is connected to this gateway, and what it holds. `Workers` changes it, and counts what it changes. */
export interface ConnectedWorker {
  readonly id: string;
  readonly session: WorkerSession;
  readonly functionIds: Set<string>;
  /** Those that it has registered. */
  readonly appIds: ReadonlySet<string>;
  /** The version of the app behind each function. */
  readonly versions: ReadonlyMap<string, string>;
  readonly seenMs: number;
  /** Of all partitions. */
  readonly inFlight: number;
  readonly requests: Set<string>;
  /** False: takes no new work. */
  readonly open: boolean;
  /** Takes no new work, over all of its connections, whatever it says. */
  readonly isDrained: boolean;
  /** Refused work a moment ago: nothing for it before this instant, monotonic. */
  readonly restUntilMs: number;
  /** Silent for longer it is given nothing. */
  readonly maxSilentMs: number;
  /** Its capacity in parts; the first one is for functions that have none of their own. */
  partitions(): Iterable<Partition>;
  /** The part of its capacity that requests of this function take. */
  partitionOf(functionId: string): Partition;
  /** For the functions that have no part of their own. */
  readonly main: Partition;
}

class Connected implements ConnectedWorker {
  readonly id: string;
  readonly session: WorkerSession;
  readonly functionIds: Set<string>;
  readonly appIds: ReadonlySet<string>;
  readonly versions: ReadonlyMap<string, string>;
  readonly requests = new Set<string>();
  readonly open: boolean;
  readonly isDrained = false;
  readonly restUntilMs = 0;
  readonly maxSilentMs: number;
  readonly main: Partition;
  readonly #apart: readonly Partition[];
  readonly #apartOf = new Map<string, Partition>();

  constructor(session: WorkerSession, open: boolean, maxSilentBeats: number) {
    const { id, functionIds, apps, partitions, capacity } = session;
    this.id = id;
    this.session = session;
    this.functionIds = new Set(functionIds);
    this.appIds = new Set(apps.map((app) => app.id));
    this.versions = new Map(apps.flatMap((app) => app.functions.map(({ slug }) => [slug, app.version] as const)));
    this.open = open;
    this.maxSilentMs = maxSilentBeats * session.heartbeatMs;
    this.#apart = partitions.map((one) => newPartition(this, new Set(one.functionIds), one.capacity));
    for (const one of this.#apart) for (const functionId of one.functionIds) this.#apartOf.set(functionId, one);
    const rest = functionIds.filter((functionId) => !this.#apartOf.has(functionId));
    this.main = newPartition(this, partitions.length === 0 ? this.functionIds : new Set(rest), capacity);
  }

  get seenMs(): number {
    return this.session.seenMs;
  }

  get inFlight(): number {
    return this.#apart.reduce((sum, { inFlight }) => sum + inFlight, this.main.inFlight);
  }

  *partitions(): Iterable<Partition> {
    yield this.main;
    yield* this.#apart;
  }

  partitionOf(functionId: string): Partition {
    return this.#apartOf.get(functionId) ?? this.main;
  }
}

/** Silent for more than `maxSilentBeats` heartbeat intervals it is given nothing. */
export function connectedWorker(session: WorkerSession, open: boolean, maxSilentBeats: number): ConnectedWorker {
  return new Connected(session, open, maxSilentBeats);
}

function newPartition(worker: ConnectedWorker, functionIds: Set<string>, capacity: number): Partition {
  const { id, session } = worker;
  return {
    worker,
    id,
    functionIds,
    capacity,
    heartbeatMs: session.heartbeatMs,
    get seenMs() {
      return session.seenMs;
    },
    inFlight: 0,
    isPaused: false,
  };
}

export const isSilent = (worker: ConnectedWorker, nowMs: number): boolean => nowMs - worker.seenMs > worker.maxSilentMs;

/** For a job that is leased on creation to this worker. */
export function leaseOf({ session }: ConnectedWorker, gatewayId: string): { gatewayId: string; leaseMs: number } {
  return { gatewayId, leaseMs: session.leaseMs };
}
