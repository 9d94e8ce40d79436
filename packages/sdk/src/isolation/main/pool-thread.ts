/**
 * Main's end of one thread of the pool: what it says, how it is ended, and why it ended. When to do which is decided
 * in `machines/pool-machine.ts`.
 */
import type { MessagePort } from "node:worker_threads";
import {
  type ErrorCode,
  HoldfastError,
  type Log,
  messageOf,
  type PlainError,
  plainError,
  type TimerHandle,
  type Timers,
  toPlainError,
} from "@holdfast/core";
import { ISOLATION_VERSION, type PoolCommand, type PoolReport } from "../shared/isolation-messages.ts";
import type { LastWords } from "../shared/last-words.ts";
import { packed } from "../shared/packed-messages.ts";
import { readReport } from "../shared/read-messages.ts";
import type { SpawnedThread } from "./spawn-pool-thread.ts";
import { readLastWords } from "./thread-stacks.ts";

type Unaddressed<Message> = Message extends unknown ? Omit<Message, "version" | "turn"> : never;

export interface PoolThreadDeps {
  readonly spawn: () => SpawnedThread;
  readonly timers: Timers;
  readonly log: Log;
  readonly memoryMb: number;
  readonly onReport: (report: PoolReport) => void;
  /** `isShortage`: it could not start, since the process lacks what a thread needs. */
  readonly onExited: (reason: PlainError, isShortage: boolean) => void;
  /** The module that the thread evaluates now. */
  readonly evaluating: () => string | undefined;
  /** It was terminated, and is still there. */
  readonly onNotEnding: (reason: PlainError) => void;
}

/** How long a thread may take to start, and to end. One in native code does not end before that has returned. */
const START_MS = 30_000;
const END_MS = 500;
/** A thread that was asked something by the inspector in this very moment can miss that it is terminated. */
const TERMINATE_AGAIN_MS = 100;
/** How long a thread may take to say what it does. In native code it does not. */
const LOOK_MS = 500;
/** Between its answer and its end, since the answer is sent while it is still being asked. */
const AFTER_LOOK_MS = 20;

type Crash = Extract<PoolReport, { type: "CRASHING" }>;

export class PoolThread {
  readonly #deps: PoolThreadDeps;
  readonly #thread: SpawnedThread | undefined;
  #isReady = false;
  #isGone = false;
  #isTerminated = false;
  #crash: Crash | undefined;
  #error: unknown;
  #alarm: TimerHandle | undefined;

  constructor(deps: PoolThreadDeps) {
    this.#deps = deps;
    try {
      this.#thread = deps.spawn();
    } catch (error) {
      queueMicrotask(() => this.#gone(notStarted(error), true));
      return;
    }
    const { worker, port } = this.#thread;
    // The connection keeps the process alive, and so does the timer of a turn.
    worker.unref();
    port.on("message", (posted: unknown) => this.#receive(posted));
    port.on("messageerror", (error) => this.#unreadable(error));
    port.unref();
    worker.on("error", (error) => {
      this.#error = error;
    });
    worker.once("exit", (code) => this.#exited(code));
    this.#drain("stdout");
    this.#drain("stderr");
    this.#alarm = deps.timers.set(START_MS, () => {
      this.#error = lost(`A thread of the pool had not started after ${START_MS} ms.`);
      this.terminate();
    });
  }

  /** @throws whatever `postMessage` throws for a value that cannot cross */
  send(command: Unaddressed<PoolCommand>, turn: number, transfer?: readonly MessagePort[]): void {
    this.post({ ...command, version: ISOLATION_VERSION, turn } satisfies PoolCommand, transfer);
  }

  /** @throws whatever `postMessage` throws for a value that cannot cross */
  post(command: PoolCommand, transfer?: readonly MessagePort[]): void {
    this.#thread?.port.postMessage(packed(command), transfer);
  }

  /** Lets it end by itself; it is free and doomed. */
  end(): void {
    this.send({ type: "END" }, 0);
    this.#alarm?.cancel();
    this.#alarm = this.#deps.timers.set(END_MS, () => this.terminate(), { unref: true });
  }

  terminate(): void {
    if (this.#isGone) return;
    this.#isTerminated = true;
    this.#alarm?.cancel();
    this.#terminateFor(END_MS);
  }

  #terminateFor(leftMs: number): void {
    if (leftMs <= 0) return this.#notEnding();
    void this.#thread?.worker.terminate();
    const again = (): void => this.#terminateFor(leftMs - TERMINATE_AGAIN_MS);
    this.#alarm = this.#deps.timers.set(TERMINATE_AGAIN_MS, again, { unref: true });
  }

  get activeMs(): number | undefined {
    return this.#isGone ? undefined : this.#thread?.activeMs?.();
  }

  /** What its code is doing; null = unknown. */
  async readLastWords(): Promise<LastWords | null> {
    const { threadId } = this.#thread?.worker ?? {};
    if (threadId === undefined || this.#isGone) return null;
    const { timers } = this.#deps;
    const words = await readLastWords(threadId, LOOK_MS, timers);
    await new Promise<void>((resolve) => timers.set(AFTER_LOOK_MS, resolve));
    return words;
  }

  #receive(posted: unknown): void {
    if (this.#isGone) return;
    let report: PoolReport;
    try {
      report = readReport(posted);
    } catch (error) {
      return this.#unreadable(error);
    }
    if (report.type === "CRASHING") this.#crash ??= report;
    if (report.type === "READY") {
      this.#isReady = true;
      this.#alarm?.cancel();
    }
    this.#deps.onReport(report);
  }

  /** It may have been the answer that a turn waits for: only the end of the thread is sure to be noticed. */
  #unreadable(error: unknown): void {
    this.#error = error;
    this.#deps.log("error", `A message of a pool thread could not be read: ${messageOf(error)}`);
    this.terminate();
  }

  #exited(code: number): void {
    if (this.#thread && !this.#isGone) {
      for (const last of this.#thread.drain()) this.#receive(last);
      this.#thread.port.close();
    }
    const isShortage = isInitFailure(this.#error);
    this.#gone(isShortage ? notStarted(this.#error) : this.#reason(code), isShortage);
  }

  #notEnding(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#thread?.port.close();
    const message = `A thread of the pool did not end within ${END_MS} ms of being terminated, probably in native code. It is left behind: until that code returns, the process does not exit by itself, nor by process.exit(); end it with a signal.`;
    this.#deps.log("error", message, { code: "ISOLATE_THREAD_LOST" satisfies ErrorCode });
    this.#deps.onNotEnding(lost(message));
  }

  #gone(reason: PlainError, isShortage: boolean): void {
    this.#alarm?.cancel();
    this.#isGone = true;
    this.#deps.onExited(reason, isShortage);
  }

  #reason(code: number): PlainError {
    const { memoryMb, evaluating } = this.#deps;
    const error = this.#error;
    if ((error as { code?: unknown } | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY") {
      const limit = memoryMb > 0 ? ` It may use ${memoryMb} MB: raise \`memoryMb\`, or use less.` : "";
      const module = evaluating();
      return lost(`Its thread ran out of memory${module ? `, while ${module} was evaluated` : ""}.${limit}`, error);
    }
    if (HoldfastError.is(error)) return toPlainError(error);
    if (this.#crash?.origin === "exit")
      return lost(`Its thread ended: ${this.#crash.error.message}`, this.#crash.error);
    const cause = this.#crash?.error ?? (error === undefined ? undefined : toPlainError(error));
    if (cause !== undefined) {
      const what = this.#crash?.origin === "unhandledRejection" ? "An unhandled rejection" : "An uncaught exception";
      return lost(`${what} ended its thread${this.#isReady ? "" : " before it was ready"}: ${cause.message}`, cause);
    }
    return lost(this.#isTerminated ? "Its thread was terminated." : `Its thread exited with code ${code}.`);
  }

  /** What code prints is captured in the thread; this is what others write. It is read, so that it can never fill up. */
  #drain(name: "stdout" | "stderr"): void {
    const stream = this.#thread?.worker[name];
    stream?.on("data", (chunk: Buffer | string) => {
      const text = String(chunk).slice(0, MAX_CHARS).trimEnd();
      if (text !== "") this.#deps.log("warn", `A thread of the pool wrote to ${name}: ${text}`);
    });
    stream?.on("error", () => {});
  }
}

/** How much of one burst of output reaches the log. */
const MAX_CHARS = 2_000;

/** Node gives it where the process may have no further descriptors, processes or memory. */
function isInitFailure(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === "ERR_WORKER_INIT_FAILED";
}

function notStarted(error: unknown): PlainError {
  return lost(`A thread of the pool could not be started: ${messageOf(error).replace(/\.$/, "")}.`, error);
}

function lost(message: string, cause?: unknown): PlainError {
  const plain = plainError("ISOLATE_THREAD_LOST", message);
  return cause === undefined ? plain : { ...plain, cause: toPlainError(cause) };
}
