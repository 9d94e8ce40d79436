/**
 * A thread of the pool: takes one turn at a time, runs the code that it names and answers. It holds nothing that is
 * not lost with it: main and the connection thread know what they gave it.
 */
import { deserialize } from "node:v8";
import type { MessagePort } from "node:worker_threads";
import {
  type Clock,
  type HoldfastError,
  type Log,
  type LoggerLike,
  type PlainError,
  plainError,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import { LazyAbortController } from "../../execution/abort.ts";
import { currentExecution, currentSignal, publishCurrentExecution, runAs } from "../../execution/current.ts";
import { encodeResult } from "../../execution/result-json.ts";
import { readThrown } from "../../execution/thrown.ts";
import { POOL_THREAD_KEY, type PoolThreadGlobal } from "../../steps/isolated.ts";
import { provideStepSignal } from "../../steps/step-signal.ts";
import {
  ISOLATION_VERSION,
  type PoolCommand,
  type PoolReport,
  type PoolThreadInit,
  readCommand,
  type TurnSubject,
  type TurnTiming,
} from "../shared/isolation-messages.ts";
import { type ThreadCells, threadCells } from "../shared/thread-cells.ts";
import { type Code, type CodeFinder, createCodeFinder, importOrRequire } from "./code-finder.ts";
import { forwardingLogger } from "./forwarding-logger.ts";
import { lastStack } from "./last-stack.ts";
import { captureOutput, type Print } from "./output.ts";
import { StepForwarder } from "./step-forwarder.ts";
import type { ImportModule } from "./tsx-loader.ts";

export interface PoolThreadPorts {
  readonly clock: Clock;
  readonly importModule: ImportModule;
  /** Of functions whose handlers run here; without it there are none. */
  readonly makeHandlers?: (thread: ThreadOfPool) => PoolHandlers;
}

/** The thread, as the part of it that runs whole handlers sees it. */
export interface ThreadOfPool {
  readonly slot: number;
  readonly cells: ThreadCells;
  readonly importModule: (url: string) => Promise<Readonly<Record<string, unknown>>>;
  /** What the thread does now. */
  setPhase(phase: "loading" | "running"): void;
  /** The connection thread gave it a turn; its code has this long. */
  onLent(turn: number, subject: TurnSubject, budgetMs: number): void;
  onReturned(turn: number): void;
  /** The logger of an app's client, as far as it can be had in a thread. */
  loggerOf(appId: string): LoggerLike;
  /** Of what the SDK itself logs: to main. */
  readonly log: Log;
}

/** Turns of the connection thread's, and what it has to be told. */
export interface PoolHandlers {
  connect(port: MessagePort): void;
  /** The thread is free. */
  onFree(): void;
  /** It ends. */
  onCrash(error: PlainError): void;
  /** Evaluates the modules of all handlers. @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT` */
  check(): Promise<void>;
}

type Unaddressed<Message> = Message extends unknown ? Omit<Message, "version" | "turn"> : never;
type Answer = Unaddressed<Extract<PoolReport, { type: "DONE" | "FAILED" | "LOADED" }>>;
type Crash = Extract<PoolReport, { type: "CRASHING" }>;
type BodyCommand = Extract<PoolCommand, { type: "RUN_BODY" }>;

interface CurrentTurn {
  readonly turn: number;
  readonly subject: TurnSubject | null;
  readonly controller: LazyAbortController;
}

export function runPoolThread(init: PoolThreadInit, ports: PoolThreadPorts): void {
  new PoolThreadRunner(init, ports).start();
}

class PoolThreadRunner {
  readonly #init: PoolThreadInit;
  readonly #clock: Clock;
  readonly #cells: ThreadCells;
  readonly #finder: CodeFinder;
  readonly #handlers: PoolHandlers | undefined;
  readonly #steps = new StepForwarder((step) => this.#send({ type: "STEP", step }));
  #print: Print = () => {};
  #current: CurrentTurn | undefined;
  #isEnding = false;

  constructor(init: PoolThreadInit, { clock, importModule, makeHandlers }: PoolThreadPorts) {
    this.#init = init;
    this.#clock = clock;
    this.#cells = threadCells(init.cells);
    this.#finder = createCodeFinder(importModule);
    this.#handlers = makeHandlers?.({
      slot: init.slot,
      cells: this.#cells,
      importModule: (url) => importOrRequire(importModule, url) as Promise<Readonly<Record<string, unknown>>>,
      setPhase: (phase) => this.#setPhase(phase),
      onLent: (turn, subject, budgetMs) => this.#lend(turn, subject, budgetMs),
      onReturned: (turn) => this.#return(turn),
      loggerOf: (appId) => forwardingLogger(appId, (...line) => this.#print(...line)),
      log: (level, message, data = {}, inWords = []) => this.#send({ type: "LOG", level, message, data, inWords }),
    });
  }

  start(): void {
    const { slot, port } = this.#init;
    const refuseConnect = (): never => this.#finder.refuseConnect();
    const shown: PoolThreadGlobal = { currentExecution, lastStack, refuseConnect };
    Object.defineProperty(globalThis, POOL_THREAD_KEY, { value: shown });
    publishCurrentExecution();
    provideStepSignal(currentSignal);
    this.#print = captureOutput({
      send: (lines, dropped) =>
        this.#send({ type: "OUTPUT", lines, dropped, step: currentExecution()?.step?.id ?? null }),
      taken: () => this.#cells.readLogsTaken(slot),
    });
    this.#reportEnds();
    port.on("message", (posted: unknown) => this.#receive(posted));
    this.#cells.ready(slot);
    this.#send({ type: "READY" });
    this.#setFree();
  }

  /** Last words; the exit itself main sees by itself. */
  #reportEnds(): void {
    const crash = (origin: Crash["origin"], error: PlainError): void => {
      if (this.#isEnding) return;
      this.#isEnding = true;
      this.#send({ type: "CRASHING", origin, error });
      this.#handlers?.onCrash(endOfThread(origin, error));
    };
    process.on("uncaughtExceptionMonitor", (error, origin) => crash(origin, toPlainError(error)));
    process.on("exit", (code) => crash("exit", toPlainError(new Error(`process.exit(${code}) was called.`))));
  }

  /** What the code of the turn prints is known to be its. */
  #lend(turn: number, subject: TurnSubject, budgetMs: number): void {
    this.#current = { turn, subject, controller: new LazyAbortController() };
    this.#steps.setHeard(this.#cells.isHeard());
    this.#send({ type: "LENT", subject, budgetMs });
  }

  #return(turn: number): void {
    this.#current = undefined;
    this.#send({ type: "RETURNED" }, turn);
  }

  #send(report: Unaddressed<PoolReport>, turn = this.#current?.turn ?? 0): void {
    this.#init.port.postMessage({ ...report, version: ISOLATION_VERSION, turn } satisfies PoolReport);
  }

  #receive(posted: unknown): void {
    try {
      this.#take(readCommand(posted));
    } catch (error) {
      const turn = (posted as { readonly turn?: unknown } | null)?.turn;
      this.#send({ type: "REFUSED", error: toPlainError(error) }, typeof turn === "number" ? turn : 0);
    }
  }

  #take(command: PoolCommand): void {
    switch (command.type) {
      case "RUN_BODY":
        return this.#begin(command.turn, command.subject, (signal) => this.#runBody(command, signal));
      case "LOAD":
        return this.#begin(command.turn, null, () => this.#load(command));
      case "ABORT":
        if (this.#current?.turn === command.turn) this.#current.controller.abort(abortReason(command.reason));
        return;
      case "CONNECTION_PORT":
        return this.#handlers ? this.#handlers.connect(command.port) : command.port.close();
      case "END":
        this.#isEnding = true;
        return process.exit(0);
      default:
        return unreachable(command);
    }
  }

  #begin(turn: number, subject: TurnSubject | null, code: (signal: () => AbortSignal) => Promise<Answer>): void {
    const controller = new LazyAbortController();
    this.#current = { turn, subject, controller };
    void code(() => controller.signal).then((answer) => {
      this.#current = undefined;
      // Main has given it up, and ends this thread.
      if (!this.#cells.release(this.#init.slot, turn)) return;
      this.#send(answer, turn);
      this.#setFree();
    });
  }

  /** An owner that waits tries to claim the thread then. */
  #setFree(): void {
    this.#handlers?.onFree();
  }

  #setPhase(phase: "loading" | "running"): void {
    this.#cells.setPhase(this.#init.slot, phase, this.#clock.monotonicMs());
  }

  async #runBody({ turn, code, subject, input, announces }: BodyCommand, signal: () => AbortSignal): Promise<Answer> {
    const clock = this.#clock;
    let begun: { readonly startedMs: number; readonly fromMs: number } | undefined;
    const timing = (): TurnTiming | null =>
      begun ? { startedMs: begun.startedMs, durationMs: clock.monotonicMs() - begun.fromMs } : null;
    try {
      let body: Code | undefined = this.#finder.known(code);
      if (body === undefined) {
        this.#setPhase("loading");
        this.#checkTurn(turn);
        body = await this.#finder.find(code);
        // Not wanted any more before it has begun: it does not begin.
        signal().throwIfAborted();
      }
      const call = body;
      const args = deserialize(input) as unknown[];
      begun = { startedMs: clock.nowMs(), fromMs: clock.monotonicMs() };
      this.#setPhase("running");
      this.#checkTurn(turn);
      if (announces) this.#send({ type: "BEGUN" });
      const value = await runAs(executionOf(subject), signal, () => call(...args));
      const json = encodeResult(value, `step "${subject.step?.id ?? subject.functionSlug}"`);
      return { type: "DONE", json, timing: { startedMs: begun.startedMs, durationMs: 0, ...timing() } };
    } catch (raw) {
      return { type: "FAILED", thrown: readThrown(raw), timing: timing() };
    }
  }

  /** Main ends a turn that was not begun and gives it to another thread: said to begin first, then looked at. */
  #checkTurn(turn: number): void {
    const status = this.#cells.read(this.#init.slot);
    if (status.state !== "main" || status.turn !== turn) throw new Error("The turn is over.");
  }

  async #load({ codes }: Extract<PoolCommand, { type: "LOAD" }>): Promise<Answer> {
    this.#setPhase("loading");
    try {
      for (const code of codes) await this.#finder.find(code);
      await this.#handlers?.check();
      return { type: "LOADED" };
    } catch (raw) {
      return { type: "FAILED", thrown: readThrown(raw), timing: null };
    }
  }
}

/** As main has it: main may be blocked while the connection thread has to answer for the turn. */
function endOfThread(origin: Crash["origin"], cause: PlainError): PlainError {
  if (origin === "exit") return { ...plainError("ISOLATE_THREAD_LOST", `Its thread ended: ${cause.message}`), cause };
  const what = origin === "unhandledRejection" ? "An unhandled rejection" : "An uncaught exception";
  return { ...plainError("ISOLATE_THREAD_LOST", `${what} ended its thread: ${cause.message}`), cause };
}

function executionOf(subject: TurnSubject): Parameters<typeof runAs>[0] {
  const { step, ...rest } = subject;
  return step === undefined ? rest : { ...rest, step: { ...step, active: true } };
}

function abortReason(plain: { readonly message: string; readonly name: string; readonly code?: string }): Error {
  const error: Error & { code?: string | HoldfastError["code"] } = new Error(plain.message);
  error.name = plain.name;
  if (plain.code !== undefined) error.code = plain.code;
  return error;
}
