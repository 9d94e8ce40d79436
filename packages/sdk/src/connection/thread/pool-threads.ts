/**
 * Owns the ports to the pool's threads: which of them live, who gets a turn, what is posted to them. What the messages
 * are about is the matter of `isolated-requests.ts`.
 */
import type { MessagePort } from "node:worker_threads";
import { type Log, messageOf, type PlainError } from "@holdfast/core";
import type { ThreadCells } from "../../isolation/shared/thread-cells.ts";
import {
  type GivenRequest,
  ISOLATED_PROTOCOL_VERSION,
  type IsolatedCommand,
  type IsolatedReport,
  readIsolatedReport,
} from "../shared/isolated-messages.ts";
import type { PoolThreadPort } from "../shared/messages.ts";

/** What is read and not handled yet, at once: a port that is to be closed may hold messages. */
export type DrainPort = (port: MessagePort) => readonly unknown[];

export interface PoolThreadsDeps {
  readonly cells: ThreadCells;
  /** See `shared-counters.ts`. */
  readonly counters: SharedArrayBuffer;
  readonly drainPort: DrainPort;
  readonly log: Log;
  readonly scheduleFlush: () => void;
  readonly onReport: (slot: number, report: IsolatedReport) => void;
  /** Its port is closed from the other end: the thread has ended. What it said of its end, if it could. */
  readonly onClosed: (slot: number, lastWords: PlainError | null) => void;
}

interface PoolThread {
  readonly port: MessagePort;
  readonly revocations: Int32Array;
  /** Why it ends, if it could say so. */
  lastWords: PlainError | null;
}

/** A command without what every message has. */
export type Command = IsolatedCommand extends infer Each
  ? Each extends IsolatedCommand
    ? Omit<Each, "version" | "turn">
    : never
  : never;

export class PoolThreads {
  readonly #deps: PoolThreadsDeps;
  readonly #threads = new Map<number, PoolThread>();
  #outgoing: { readonly thread: PoolThread; readonly command: IsolatedCommand }[] = [];

  constructor(deps: PoolThreadsDeps) {
    this.#deps = deps;
  }

  /** A thread that lives; `requests` are those that it is taken to have. */
  add({ slot, port }: PoolThreadPort, requests: readonly GivenRequest[]): void {
    const { cells, counters, onClosed } = this.#deps;
    const revocations = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const thread: PoolThread = { port, revocations: new Int32Array(revocations), lastWords: null };
    this.#threads.set(slot, thread);
    port.on("message", (posted: unknown) => {
      if (this.#threads.get(slot) === thread) this.#read(slot, thread, posted);
    });
    port.on("close", () => {
      if (this.#threads.get(slot) !== thread) return;
      // All that it had posted has arrived, and reading from a port that is being closed crashes Node 20.
      this.#threads.delete(slot);
      onClosed(slot, thread.lastWords);
    });
    const { state, turn } = cells.read(slot);
    const claimedTurn = state === "connection" ? turn : null;
    this.#queue(thread, 0, { type: "SYNC", requests, claimedTurn, counters, revocations });
  }

  has(slot: number): boolean {
    return this.#threads.has(slot);
  }

  /** Takes a free thread, if there is one. */
  claim(): { readonly slot: number; readonly turn: number } | null {
    const { cells } = this.#deps;
    for (const slot of this.#threads.keys()) {
      const turn = cells.read(slot).memoryMb === 0 ? cells.claim(slot, "connection") : null;
      if (turn !== null) return { slot, turn };
    }
    return null;
  }

  /** It leaves with `flush`; of a thread that is gone it is dropped. */
  post(slot: number, turn: number, command: Command): void {
    const thread = this.#threads.get(slot);
    if (thread === undefined) return;
    // Before the message: the thread compares the number with what it has read.
    if (command.type === "LEASE_LOST" || command.type === "CANCEL") Atomics.add(thread.revocations, 0, 1);
    this.#queue(thread, turn, command);
  }

  flush(): void {
    const outgoing = this.#outgoing;
    this.#outgoing = [];
    for (const { thread, command } of outgoing) thread.port.postMessage(command);
  }

  /** Reads what the thread has said before it ended, and closes its port. What it said of its end, if it could. */
  remove(slot: number): PlainError | null {
    const thread = this.#threads.get(slot);
    if (thread === undefined) return null;
    for (const posted of this.#deps.drainPort(thread.port)) this.#read(slot, thread, posted);
    this.#threads.delete(slot);
    thread.port.close();
    return thread.lastWords;
  }

  close(): void {
    for (const { port } of this.#threads.values()) port.close();
    this.#threads.clear();
  }

  #queue(thread: PoolThread, turn: number, command: Command): void {
    this.#outgoing.push({
      thread,
      command: { version: ISOLATED_PROTOCOL_VERSION, turn, ...command } as IsolatedCommand,
    });
    this.#deps.scheduleFlush();
  }

  #read(slot: number, thread: PoolThread, posted: unknown): void {
    const { log, onReport } = this.#deps;
    let report: IsolatedReport;
    try {
      report = readIsolatedReport(posted);
    } catch (error) {
      return log("error", `A message of a pool thread is ignored: ${messageOf(error)}`, { code: "THREAD_PROTOCOL" });
    }
    if (report.type === "CRASHING") thread.lastWords = report.error;
    else onReport(slot, report);
  }
}
