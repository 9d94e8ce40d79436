/** What a connection takes of the pool whose threads run isolated functions. The pool itself is in `isolation/`. */
import type { PlainError } from "@holdfast/core";
import type { IsolationDebugState } from "../../isolation/main/pool-types.ts";
import type { InitMessage, MainMessage, PoolThreadPort } from "../shared/messages.ts";

export interface PoolListener {
  /** A thread has started; the port is to be transferred to the connection thread. */
  onStarted(port: PoolThreadPort): void;
  /** A thread ends or has ended: called once what it was doing cannot count any more. */
  onLost(slot: number, error: PlainError): void;
}

export interface ConnectionPool {
  /** Whose turn each thread has; see `isolation/shared/thread-cells.ts`. */
  readonly cells: SharedArrayBuffer;
  /** A fresh port to each thread that lives. From now on this listener is called, and none before it. */
  connect(listener: PoolListener): readonly PoolThreadPort[];
  /** So many requests wait for a thread; 0 = none does any more. */
  want(waiting: number): void;
  /** The connection thread gave a thread this turn: one that does not begin with it is ended. */
  expect(slot: number, turn: number): void;
}

/** For a new connection thread, which gets ports of its own; those of the one before are closed. */
export function poolAccess(
  pool: ConnectionPool | undefined,
  send: (message: MainMessage) => void,
): InitMessage["pool"] {
  if (pool === undefined) return null;
  const ports = pool.connect({
    onStarted: (port) => send({ type: "POOL_THREAD_STARTED", ...port }),
    onLost: (slot, error) => send({ type: "POOL_THREAD_LOST", slot, error }),
  });
  return { cells: pool.cells, ports };
}

/** The pool's state with the requests that stand in line in the connection thread. */
export function withLoad(
  state: IsolationDebugState,
  { queued, oldestMs }: { readonly queued: number; readonly oldestMs: number | null },
): IsolationDebugState {
  const ages = [state.oldestMs, oldestMs].filter((ms) => ms !== null);
  return { ...state, queued: state.queued + queued, oldestMs: ages.length === 0 ? null : Math.max(...ages) };
}
