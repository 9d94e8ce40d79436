import { MessageChannel, type MessagePort } from "node:worker_threads";
import { type PlainError, plainError, systemClock, systemTimers } from "@holdfast/core";
import type { ConnectionPool, PoolListener } from "../../src/connection/main/connection-pool.ts";
import { HandlerThread } from "../../src/connection/pool-thread/handler-thread.ts";
import type { ExecutionStrategy, PassRequest } from "../../src/execution/execution.ts";
import type { BodyWatch } from "../../src/execution/pass-options.ts";
import { cellsBytes, type ThreadCells, threadCells } from "../../src/isolation/shared/thread-cells.ts";

export type WatchedStrategy = (watch: (request: PassRequest) => BodyWatch) => ExecutionStrategy;

/**
 * The pool's side of a connection with real ports and cells, whose threads are parts of this one: what the connection
 * thread and the threads of the pool say to each other is real, and the test sees and ends each of them.
 */
export interface PoolStandIn extends ConnectionPool {
  readonly access: ThreadCells;
  /** Whose turns began, in order. */
  readonly lent: { readonly slot: number; readonly turn: number; readonly requestId: string }[];
  readonly returned: number;
  /** How many requests were last said to wait. */
  readonly wanted: number;
  start(slot: number): void;
  /** Ends a thread without its knowledge; main knows why at once, or never. */
  kill(slot: number, reason?: PlainError | null): void;
  /**
   * Ends a thread when it comes to this moment, once: "before" and "after" it says something to the connection thread ("before
   * TURN_BEGUN") or hears something of it ("after hearing CHECKPOINT_ACKED"). Another one is started at once.
   */
  dieAt(moment: string): void;
  /** How many threads have ended: code of one of those is not run any more. */
  readonly deaths: number;
  /** Whether the moment that was ordered has not come yet. */
  readonly pending: boolean;
}

export const LOST = plainError("ISOLATE_THREAD_LOST", "The thread was lost.");

export function poolStandIn(slots: number, strategy: WatchedStrategy): PoolStandIn {
  const cells = new SharedArrayBuffer(cellsBytes(slots));
  const access = threadCells(cells);
  const threads = new Map<number, { readonly thread: HandlerThread; port: MessagePort | undefined }>();
  const lent: PoolStandIn["lent"] = [];
  let returned = 0;
  let wanted = 0;
  let listener: PoolListener | undefined;

  let moment: string | undefined;
  let deaths = 0;

  const portTo = (slot: number): MessagePort => {
    const { port1, port2 } = new MessageChannel();
    const one = threads.get(slot);
    if (one) one.port = port1;
    const isAlive = (): boolean => threads.get(slot) === one;
    const come = (now: string): void => {
      if (now !== moment || !isAlive()) return;
      moment = undefined;
      pool.kill(slot);
      pool.start(slot);
    };
    // What a thread that has ended would still do is not done.
    const port = {
      on: (name: "message", listener: (posted: { type: string }) => void) =>
        port1.on(name, (posted: { type: string }) => {
          come(`before hearing ${posted.type}`);
          if (isAlive()) listener(posted);
          come(`after hearing ${posted.type}`);
        }),
      postMessage: (message: { type: string }) => {
        come(`before ${message.type}`);
        if (isAlive()) port1.postMessage(message);
        come(`after ${message.type}`);
      },
      close: () => port1.close(),
    };
    one?.thread.connect(port as never);
    port1.unref();
    return port2;
  };
  const pool: PoolStandIn = {
    cells,
    access,
    lent,
    get returned() {
      return returned;
    },
    get wanted() {
      return wanted;
    },
    connect: (next) => {
      listener = next;
      return [...threads.keys()].map((slot) => ({ slot, port: portTo(slot) }));
    },
    want: (waiting) => {
      wanted = waiting;
    },
    expect: () => {},
    dieAt: (when) => {
      moment = when;
    },
    get deaths() {
      return deaths;
    },
    get pending() {
      return moment !== undefined;
    },
    start: (slot) => {
      access.prepare(slot, 0);
      const made: { thread?: HandlerThread } = {};
      // A thread that has ended changes no shared memory.
      const release: ThreadCells["release"] = (...turn) =>
        threads.get(slot)?.thread === made.thread && access.release(...turn);
      const thread = new HandlerThread({
        ...{
          slot,
          cells: { ...access, release },
          clock: systemClock,
          timers: systemTimers,
          log: () => {},
          sdkVersion: "test",
          strategy: (watch) => {
            const inner = strategy(watch);
            const isAlive = (): boolean => threads.get(slot)?.thread === made.thread;
            // Its code does not go on after its end.
            return { execute: (...call) => (isAlive() ? inner.execute(...call) : new Promise(() => {})) };
          },
        },
        main: {
          onLent: (turn, { requestId }) => void lent.push({ slot, turn, requestId }),
          onReturned: () => {
            returned += 1;
          },
        },
        isSpent: () => false,
      });
      made.thread = thread;
      threads.set(slot, { thread, port: undefined });
      access.ready(slot);
      listener?.onStarted({ slot, port: portTo(slot) });
    },
    kill: (slot, reason = LOST) => {
      const one = threads.get(slot);
      deaths += 1;
      access.condemn(slot);
      threads.delete(slot);
      if (reason !== null) listener?.onLost(slot, reason);
      one?.port?.close();
      access.vacate(slot);
    },
  };
  for (let slot = 0; slot < slots; slot += 1) pool.start(slot);
  return pool;
}
