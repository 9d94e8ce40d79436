/**
 * A thread of the pool: what ties its turns (`pool-turns.ts`) to the process, to what code prints and to how a thread
 * ends.
 */
import { type Clock, type Log, type LoggerLike, type PlainError, plainError, toPlainError } from "@holdfast/core";
import {
  type CurrentExecution,
  currentExecution,
  currentSignal,
  publishCurrentExecution,
} from "../../execution/current.ts";
import { POOL_THREAD_KEY, type PoolThreadGlobal } from "../../steps/isolated.ts";
import { provideStepSignal } from "../../steps/step-signal.ts";
import type { PoolReport, PoolThreadInit, TurnSubject } from "../shared/isolation-messages.ts";
import type { LastWords } from "../shared/last-words.ts";
import { packed } from "../shared/packed-messages.ts";
import type { NamedSubject } from "../shared/subject-text.ts";
import { type ThreadCells, threadCells } from "../shared/thread-cells.ts";
import { type CodeFinder, createCodeFinder, whileEvaluated } from "./code-finder.ts";
import { forwardingLogger } from "./forwarding-logger.ts";
import { lastStack } from "./last-stack.ts";
import { LeftBehind, loopTimes, whenIdleIsCounted } from "./left-behind.ts";
import { type CapturedOutput, captureOutput } from "./output.ts";
import { type PoolHandlers, PoolTurns } from "./pool-turns.ts";
import { refuseServers, withRefusal } from "./refused-servers.ts";
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
  readonly clock: Clock;
  readonly importModule: CodeFinder["importModule"];
  /** A module could not be evaluated, and never can be in this thread. */
  readonly isSpent: () => boolean;
  /** What the thread does now. */
  setPhase(phase: "loading" | "running"): void;
  /** The connection thread gave it a turn; its code has this long. */
  onLent(turn: number, subject: TurnSubject, budgetMs: number): void;
  /** Spent: the thread is to get no further turn. */
  onReturned(turn: number, isSpent: boolean): void;
  /** The logger of an app's client, as far as it can be had in a thread. */
  loggerOf(appId: string): LoggerLike;
  /** Of what the SDK itself logs: to main. */
  readonly log: Log;
}

type Crash = Extract<PoolReport, { type: "CRASHING" }>;

export function runPoolThread(init: PoolThreadInit, ports: PoolThreadPorts): void {
  new PoolThreadRunner(init, ports).start();
}

class PoolThreadRunner {
  readonly #init: PoolThreadInit;
  readonly #cells: ThreadCells;
  readonly #finder: CodeFinder;
  readonly #turns: PoolTurns;
  readonly #steps = new StepForwarder((step) => this.#turns.send({ type: "STEP", step }));
  #output: CapturedOutput = { print: () => {}, flush: () => {} };
  #isEnding = false;

  constructor(init: PoolThreadInit, { clock, importModule, makeHandlers }: PoolThreadPorts) {
    this.#init = init;
    this.#cells = threadCells(init.cells);
    this.#finder = createCodeFinder(importModule);
    const turns = new PoolTurns({
      ...{ slot: init.slot, cells: this.#cells, clock, finder: this.#finder },
      post: (report) => init.port.postMessage(packed(report)),
      leftBehind: new LeftBehind(loopTimes()),
      onEnding: () => this.#output.flush(),
      exit: () => {
        this.#isEnding = true;
        process.exit(0);
      },
    });
    this.#turns = turns;
    turns.handlers = makeHandlers?.({
      ...{ slot: init.slot, cells: this.#cells, clock },
      importModule: this.#finder.importModule,
      isSpent: () => this.#finder.isSpent,
      setPhase: (phase) => turns.setPhase(phase),
      onLent: (turn, subject, budgetMs) => {
        turns.lend(turn, subject);
        this.#steps.setHeard(this.#cells.isHeard());
        turns.send({ type: "LENT", subject, budgetMs });
      },
      onReturned: (turn, isSpent) => turns.return(turn, isSpent),
      loggerOf: (appId) => forwardingLogger(appId, (...line) => this.#output.print(...line)),
      log: (level, message, data = {}, inWords = []) => turns.send({ type: "LOG", level, message, data, inWords }),
    });
  }

  start(): void {
    const { slot, port } = this.#init;
    const refuseConnect = (): never => this.#finder.refuseConnect();
    const onAsked = (): string => this.#lastWords(onAsked);
    const shown: PoolThreadGlobal = { currentExecution, lastStack: onAsked, refuseConnect };
    Object.defineProperty(globalThis, POOL_THREAD_KEY, { value: shown });
    refuseServers((error) => this.#finder.refuse(error));
    publishCurrentExecution();
    provideStepSignal(currentSignal);
    this.#output = captureOutput({
      send: (lines, dropped, step) => this.#turns.send({ type: "OUTPUT", lines, dropped, step }),
      step: () => currentExecution()?.step?.id ?? null,
      taken: () => this.#cells.readLogsTaken(slot),
    });
    this.#reportEnds();
    port.on("message", (posted: unknown) => this.#turns.receive(posted));
    whenIdleIsCounted(() => this.#turns.begin());
  }

  /** What main asks in the middle of the code, before it ends the thread. */
  #lastWords(above: () => unknown): string {
    const stack = lastStack(above);
    const running = currentExecution();
    const isOwn = running === undefined || this.#turns.isCurrent(running);
    this.#output.flush();
    return JSON.stringify({ stack, leftBy: isOwn ? null : namedSubject(running) } satisfies LastWords);
  }

  /** Last words; the exit itself main sees by itself. */
  #reportEnds(): void {
    const crash = (origin: Crash["origin"], thrown: PlainError): void => {
      if (this.#isEnding) return;
      this.#isEnding = true;
      this.#output.flush();
      const message = withRefusal(`${thrown.message.replace(/\.$/, "")}${whileEvaluated()}`);
      const error = { ...thrown, message: `${message}.` };
      this.#turns.send({ type: "CRASHING", origin, error });
      this.#turns.handlers?.onCrash(endOfThread(origin, error));
    };
    process.on("uncaughtExceptionMonitor", (error, origin) => crash(origin, toPlainError(error)));
    process.on("exit", (code) => crash("exit", toPlainError(new Error(`process.exit(${code}) was called.`))));
  }
}

function namedSubject({ runId, functionSlug, step }: CurrentExecution): NamedSubject {
  return { runId, functionSlug, ...(step ? { step: { id: step.id, attempt: step.attempt } } : {}) };
}

/** As main has it: main may be blocked while the connection thread has to answer for the turn. */
function endOfThread(origin: Crash["origin"], cause: PlainError): PlainError {
  if (origin === "exit") return { ...plainError("ISOLATE_THREAD_LOST", `Its thread ended: ${cause.message}`), cause };
  const what = origin === "unhandledRejection" ? "An unhandled rejection" : "An uncaught exception";
  return { ...plainError("ISOLATE_THREAD_LOST", `${what} ended its thread: ${cause.message}`), cause };
}
