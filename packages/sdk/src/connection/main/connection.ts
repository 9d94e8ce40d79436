import type { IsolationDebugState } from "../../isolation/main/pool-types.ts";
import type { ConnectionState, DebugState } from "../shared/debug-state.ts";

/** What `debugState()` gives: main's own view, and the mirror of the connection thread's. */
export interface ConnectionDebugState {
  readonly state: ConnectionState;
  readonly instanceId: string;
  readonly threadAlive: boolean;
  /** How long the thread has given no sign of life; null when there is none. It gives several a second. */
  readonly threadSilentMs: number | null;
  readonly crashes: number;
  /** Requests whose reply is not acknowledged yet. */
  readonly inFlight: number;
  /** Handlers that run at the moment. */
  readonly runningHandlers: number;
  /** Step bodies of this process that still run although their attempt has failed by its `timeout`. */
  readonly abandonedBodies: number;
  /** The threads that isolated code runs in. */
  readonly isolation: IsolationDebugState;
  /** How old `thread` is; null when there is none. More than some seconds: the thread is dead, or main was blocked. */
  readonly ageMs: number | null;
  /** What the thread last said of itself. */
  readonly thread: DebugState | null;
}

/** A connection to a gateway, made by `connect()`. It keeps the process alive until it is closed. */
export interface Connection {
  readonly state: ConnectionState;
  /** Changes with every reconnect; null while there is no connection. */
  readonly connectionId: string | null;
  readonly instanceId: string;
  debugState(): ConnectionDebugState;
  /** Resolves when the connection was closed by `close()` or a signal; rejects with `CONNECTION_FAILED`. */
  readonly closed: Promise<void>;
  /**
   * Takes no new work, lets running work finish (at most `drainTimeout`, then it is handed back), delivers every reply
   * and ends the connection thread. May be called at any time and more than once. Never rejects.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
