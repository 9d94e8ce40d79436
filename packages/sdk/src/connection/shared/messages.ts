/**
 * The messages between main thread and connection thread, and how a post is read. What each means in every situation
 * is in `message-table.ts`.
 */
import type { MessagePort } from "node:worker_threads";
import { type ClockReading, HoldfastError, type LogLevel, type PlainError } from "@holdfast/core";
import type { CheckpointOutcome, Extension, GatewayResults, RequestIdentity } from "@holdfast/protocol";
import type { ConnectionState, DebugState } from "./debug-state.ts";
import type { SerializableConfig } from "./serializable-config.ts";
import type { StallReport } from "./stall.ts";

/**
 * Everything that crosses between the main thread and the connection thread. Payloads are bytes of exact size as they
 * go over the wire; nothing here has behaviour. `message-table.ts` says what each message means for the life cycle.
 */

/** Raised with every change that an older thread or main could misread. */
export const THREAD_PROTOCOL_VERSION = 6;

/** How a finished request ended: the encoded SDKResponse, or why there is none. */
export type LedgerOutcome =
  | { readonly kind: "response"; readonly response: Uint8Array }
  | { readonly kind: "error"; readonly error: PlainError };

/** Which turn of which pool thread an isolated request has; null = it stood in line. */
export type IsolatedPlace = { readonly slot: number; readonly turn: number } | null;

/** What it takes to begin with an isolated request. */
export interface IsolatedRequest {
  /** The GATEWAY_EXECUTOR_REQUEST frame as it came. */
  readonly request: Uint8Array;
  readonly extensions: readonly Extension[];
}

/** An isolated request as main keeps it: how it goes on and how it ended is known to its thread alone. */
export interface IsolatedEntry {
  readonly place: IsolatedPlace;
  /** Null: main had been blocked for so long that it was not sent along. */
  readonly work: IsolatedRequest | null;
}

/** A step that has been running for a while, since when on the monotonic clock. */
export interface LongStep {
  readonly id: string;
  readonly fromMs: number;
}

/** The pool's threads, as the connection thread knows them. */
export interface PoolAccess {
  /** Whose turn each thread has: `isolation/shared/thread-cells.ts`. */
  readonly cells: SharedArrayBuffer;
  readonly ports: readonly PoolThreadPort[];
}

/** A port of its own to the thread of this slot. It has to be transferred. */
export interface PoolThreadPort {
  readonly slot: number;
  readonly port: MessagePort;
}

/** A request in flight as a new thread takes it over. */
export interface AdoptedRequest {
  readonly identity: RequestIdentity;
  readonly appName: string;
  readonly leaseId: string;
  readonly isolated?: IsolatedEntry;
  /** How long it has been in flight. */
  readonly ageMs: number;
  /** Without one the handler still runs. */
  readonly outcome: LedgerOutcome | null;
  readonly checkpoints: readonly { readonly sequence: number; readonly ops: Uint8Array }[];
}

export interface InitMessage {
  readonly type: "INIT";
  readonly version: number;
  readonly config: SerializableConfig;
  readonly adopted: readonly AdoptedRequest[];
  /** Signs of life of both sides, and more; see `shared-counters.ts`. */
  readonly counters: SharedArrayBuffer;
  /** Which of the threads that watch this main inspects it; see `inspector-role.ts`. */
  readonly inspector: { readonly memory: SharedArrayBuffer; readonly thread: number };
  /** Higher than that of any doubt before: what main holds is confirmed again before any more of it begins. */
  readonly doubtNumber: number;
  /** How often the thread has crashed so far, for the debug state. */
  readonly crashes: number;
  /** Numbers of the signals that close the connection, and how long work may take then. */
  readonly shutdown: { readonly signals: readonly number[]; readonly drainMs: number };
  /** Null = no function is isolated. */
  readonly pool: PoolAccess | null;
  /** The cells of a pool that runs bodies only, for reports about it. Null = there is none, or they are in `pool`. */
  readonly poolMemory: SharedArrayBuffer | null;
}

export type MainMessage =
  | InitMessage
  | {
      readonly type: "CONNECT";
      /** There was a connection before this thread, so a rejection does not end the attempts. */
      readonly resumed: boolean;
    }
  | {
      readonly type: "CLOSE";
      /** How long unfinished work may still take; 0 = hand everything back now. */
      readonly drainMs: number;
    }
  | { readonly type: "EXECUTION_RESPONSE"; readonly requestId: string; readonly response: Uint8Array }
  | { readonly type: "EXECUTION_ERROR"; readonly requestId: string; readonly error: PlainError }
  /** The work belongs to another worker by now: there will be no reply. */
  | { readonly type: "EXECUTION_DROPPED"; readonly requestId: string }
  | {
      readonly type: "CHECKPOINT";
      readonly requestId: string;
      readonly sequence: number;
      readonly ops: Uint8Array;
    }
  /** Whether code of the request waits for a newer confirmation of its lease. */
  | { readonly type: "LEASE_WANTED"; readonly requestId: string; readonly wanted: boolean }
  /** The steps of the request that have been running for a while, oldest first; none = none any more. */
  | { readonly type: "STEPS_RUNNING"; readonly requestId: string; readonly steps: readonly LongStep[] }
  /** A thread was started in this slot of the pool, instead of the one before. */
  | ({ readonly type: "POOL_THREAD_STARTED" } & PoolThreadPort)
  /** The thread of this slot is gone, or ends now, and nothing that it was doing will be done; why. */
  | { readonly type: "POOL_THREAD_LOST"; readonly slot: number; readonly error: PlainError };

export type ThreadMessage =
  | { readonly type: "STATE_CHANGE"; readonly state: ConnectionState }
  | { readonly type: "CONNECTION_READY"; readonly connectionId: string; readonly extensions: readonly Extension[] }
  | {
      readonly type: "EXECUTION_REQUEST";
      readonly requestId: string;
      /** The GATEWAY_EXECUTOR_REQUEST frame as it came. */
      readonly request: Uint8Array;
      readonly extensions: readonly Extension[];
      /** The doubt as of which it is known that no other worker has it, and the time. */
      readonly doubtNumber: number;
      readonly asOf: ClockReading | null;
    }
  | { readonly type: "REPLY_ACKED"; readonly requestId: string }
  | {
      readonly type: "CHECKPOINT_ACKED";
      readonly requestId: string;
      readonly sequence: number;
      readonly outcome: CheckpointOutcome;
    }
  /** The doubt after which, and the time as of which, the gateway has confirmed the lease; main begins nothing under older ones. */
  | {
      readonly type: "LEASE_EXTENDED";
      readonly requestId: string;
      readonly leaseId: string;
      readonly doubtNumber: number;
      readonly asOf: ClockReading | null;
    }
  | { readonly type: "LEASE_LOST"; readonly requestId: string }
  | { readonly type: "CANCEL"; readonly requestId: string; readonly reason: string }
  /** What the gateway has ended of its run meanwhile. */
  | { readonly type: "RESULTS"; readonly requestId: string; readonly ended: GatewayResults }
  /** A request of an isolated function is in flight; main keeps it for the next thread. */
  | {
      readonly type: "ISOLATED_REQUEST";
      readonly requestId: string;
      readonly identity: RequestIdentity;
      readonly appName: string;
      readonly leaseId: string;
      readonly work: IsolatedRequest | null;
    }
  /** A pool thread is given it. */
  | {
      readonly type: "ISOLATED_TURN";
      readonly requestId: string;
      readonly place: NonNullable<IsolatedPlace>;
    }
  /** It is not in flight any more, without an acknowledged reply. */
  | { readonly type: "ISOLATED_ENDED"; readonly requestId: string; readonly isLeaseLost: boolean }
  /** So many isolated requests wait for a thread, and none is free; 0 = none waits any more. */
  | { readonly type: "POOL_THREAD_WANTED"; readonly waiting: number }
  /** The time is the monotonic one, which all threads of a process share. */
  | { readonly type: "DEBUG_STATE"; readonly debug: DebugState; readonly writtenMs: number }
  | {
      readonly type: "LOG";
      readonly level: LogLevel;
      readonly message: string;
      readonly data?: Readonly<Record<string, unknown>>;
    }
  /** Main was stalled for long enough to be reported, and is responsive again: the last report, with the whole duration. */
  | { readonly type: "STALL_ENDED"; readonly report: StallReport }
  | { readonly type: "ERROR"; readonly error: PlainError; readonly fatal: boolean }
  | { readonly type: "CLOSED"; readonly undelivered: readonly string[] };

export type AnyMessage = MainMessage | ThreadMessage;

// Tables, so that a type left out does not compile: the other thread would take its messages for a mistake.
const MAIN_ROWS: Readonly<Record<MainMessage["type"], true>> = {
  INIT: true,
  CONNECT: true,
  CLOSE: true,
  EXECUTION_RESPONSE: true,
  EXECUTION_ERROR: true,
  EXECUTION_DROPPED: true,
  CHECKPOINT: true,
  LEASE_WANTED: true,
  STEPS_RUNNING: true,
  POOL_THREAD_STARTED: true,
  POOL_THREAD_LOST: true,
};
export const MAIN_MESSAGE_TYPES = Object.keys(MAIN_ROWS) as readonly MainMessage["type"][];

const THREAD_ROWS: Readonly<Record<ThreadMessage["type"], true>> = {
  STATE_CHANGE: true,
  CONNECTION_READY: true,
  EXECUTION_REQUEST: true,
  REPLY_ACKED: true,
  CHECKPOINT_ACKED: true,
  LEASE_EXTENDED: true,
  LEASE_LOST: true,
  CANCEL: true,
  RESULTS: true,
  ISOLATED_REQUEST: true,
  ISOLATED_TURN: true,
  ISOLATED_ENDED: true,
  POOL_THREAD_WANTED: true,
  DEBUG_STATE: true,
  LOG: true,
  STALL_ENDED: true,
  ERROR: true,
  CLOSED: true,
};
export const THREAD_MESSAGE_TYPES = Object.keys(THREAD_ROWS) as readonly ThreadMessage["type"][];

/** What has to be handed over when the message is posted: a port works in one thread at a time. */
export function transferOf(message: MainMessage): readonly MessagePort[] {
  if (message.type === "INIT") return message.pool?.ports.map(({ port }) => port) ?? [];
  return message.type === "POOL_THREAD_STARTED" ? [message.port] : [];
}

const MAIN_TYPES: ReadonlySet<unknown> = new Set(MAIN_MESSAGE_TYPES);
const THREAD_TYPES: ReadonlySet<unknown> = new Set(THREAD_MESSAGE_TYPES);

/**
 * The messages of one post from main.
 * @throws HoldfastError `THREAD_PROTOCOL` for an unknown type, or an INIT of another version
 */
export function readMainMessages(posted: unknown): readonly MainMessage[] {
  const messages = readMessages<MainMessage>(posted, MAIN_TYPES, "main thread");
  for (const message of messages) {
    if (message.type === "INIT" && message.version !== THREAD_PROTOCOL_VERSION) {
      throw new HoldfastError(
        "THREAD_PROTOCOL",
        `The main thread speaks version ${message.version} of the thread protocol, this thread version ${THREAD_PROTOCOL_VERSION}. Install one version of holdfast.`,
      );
    }
  }
  return messages;
}

/**
 * The messages of one post from the thread.
 * @throws HoldfastError `THREAD_PROTOCOL` for an unknown type
 */
export function readThreadMessages(posted: unknown): readonly ThreadMessage[] {
  return readMessages<ThreadMessage>(posted, THREAD_TYPES, "connection thread");
}

function readMessages<Message extends AnyMessage>(
  posted: unknown,
  known: ReadonlySet<unknown>,
  sender: string,
): readonly Message[] {
  const messages: readonly unknown[] = Array.isArray(posted) ? posted : [posted];
  for (const message of messages) {
    const type = (message as { type?: unknown } | null | undefined)?.type;
    if (!known.has(type)) {
      throw new HoldfastError(
        "THREAD_PROTOCOL",
        `The ${sender} sent a message of unknown type ${JSON.stringify(type) ?? "undefined"}. Install one version of holdfast.`,
      );
    }
  }
  return messages as readonly Message[];
}
