/**
 * The turns of a pool thread: takes one at a time, runs the code that it names and answers. It holds nothing that is not
 * lost with the thread: main and the connection thread know what they gave it. `run-pool-thread.ts` ties it to a real
 * thread.
 */
import { deserialize } from "node:v8";
import type { MessagePort } from "node:worker_threads";
import {
  type Clock,
  type ClockReading,
  type HoldfastError,
  messageOf,
  type PlainError,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import { LazyAbortController, type SignalSource } from "../../execution/abort.ts";
import { runAs } from "../../execution/current.ts";
import { lossOfResult } from "../../execution/lossy-results.ts";
import { encodeResult, isLater } from "../../execution/result-json.ts";
import { readThrown } from "../../execution/thrown.ts";
import {
  ISOLATION_VERSION,
  isUnconfirmed,
  type PoolCommand,
  type PoolReport,
  type TurnSubject,
} from "../shared/isolation-messages.ts";
import { unpacked } from "../shared/packed-messages.ts";
import { readCommand } from "../shared/read-messages.ts";
import type { ThreadCells, TurnOwner, TurnPhase } from "../shared/thread-cells.ts";
import type { Code, CodeFinder } from "./code-finder.ts";
import type { LeftBehind } from "./left-behind.ts";

/** Turns of the connection thread's, and what has to be sent to it. */
export interface PoolHandlers {
  connect(port: MessagePort): void;
  /** The thread is free. */
  onFree(): void;
  /** It ends. */
  onCrash(error: PlainError): void;
  /** Evaluates the modules of all handlers. @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`, `ISOLATE_LISTEN` */
  check(onModule: (index: number) => void): Promise<void>;
}

export interface PoolTurnsDeps {
  readonly slot: number;
  readonly cells: ThreadCells;
  readonly clock: Clock;
  readonly finder: Pick<CodeFinder, "known" | "find" | "isSpent">;
  readonly post: (report: PoolReport) => void;
  /** Absent: turns leave nothing behind. */
  readonly leftBehind?: LeftBehind;
  /** Before it is said that a turn is over: what its code printed is sent. */
  readonly onEnding?: () => void;
  /** Ends the thread. */
  readonly exit: () => void;
}

export type Unaddressed<Message> = Message extends unknown ? Omit<Message, "version" | "turn"> : never;
type Failed = Omit<Unaddressed<Extract<PoolReport, { type: "FAILED" }>>, "isSpent">;
type Answer = Unaddressed<Extract<PoolReport, { type: "DONE" | "LOADED" }>> | Failed;
type BodyCommand = Extract<PoolCommand, { type: "RUN_BODY" }>;

interface CurrentTurn {
  readonly turn: number;
  readonly subject: TurnSubject | null;
  readonly controller: LazyAbortController;
  /** Its code waits until it is known again that the work is ours. */
  onConfirmed?: (asOf: ClockReading) => void;
}

/**
 * TURNS-1. Code begins only in the turn that the cells say the thread has, looked at after it was said to begin.
 * TURNS-2. Code begins only where main knew a short time ago that the work is ours; else main is asked, and the code waits.
 * TURNS-3. A turn that main has ended is answered by nothing.
 * TURNS-4. No turn of either owner begins in a thread in which code of an earlier one computes: the thread says so and
 *     ends, and another one gets the turn.
 */
export class PoolTurns {
  /** Whole handlers, where there are any. */
  handlers: PoolHandlers | undefined;
  readonly #deps: PoolTurnsDeps;
  #current: CurrentTurn | undefined;

  constructor(deps: PoolTurnsDeps) {
    this.#deps = deps;
  }

  begin(): void {
    this.#deps.cells.ready(this.#deps.slot);
    this.send({ type: "READY" });
    this.#setFree();
  }

  /** The connection thread gave the thread a turn: what its code prints is known to be its. */
  lend(turn: number, subject: TurnSubject): void {
    this.#current = { turn, subject, controller: new LazyAbortController() };
  }

  return(turn: number, isSpent: boolean): void {
    this.#deps.onEnding?.();
    this.#current = undefined;
    this.send({ type: "RETURNED", isSpent }, turn);
    this.#deps.leftBehind?.onTurnEnd();
  }

  /** Whether this is whose code the thread is to run now. */
  isCurrent({ requestId, step }: Pick<TurnSubject, "requestId" | "step">): boolean {
    const subject = this.#current?.subject;
    if (subject?.requestId !== requestId) return false;
    return subject.step === undefined || (subject.step.hash === step?.hash && subject.step.attempt === step.attempt);
  }

  send(report: Unaddressed<PoolReport>, turn = this.#current?.turn ?? 0): void {
    this.#deps.post({ ...report, version: ISOLATION_VERSION, turn } satisfies PoolReport);
  }

  setPhase(phase: TurnPhase): void {
    const { cells, slot, clock } = this.#deps;
    cells.setPhase(slot, phase, clock.monotonicMs());
  }

  receive(posted: unknown): void {
    try {
      this.#take(readCommand(posted));
    } catch (error) {
      const turn = (unpacked(posted) as { readonly turn?: unknown } | null)?.turn;
      this.send({ type: "REFUSED", error: toPlainError(error) }, typeof turn === "number" ? turn : 0);
    }
  }

  #take(command: PoolCommand): void {
    switch (command.type) {
      case "RUN_BODY":
        if (this.#refuses(command.turn)) return;
        return this.#begin(command.turn, command.subject, (source) => this.#runBody(command, source));
      case "LOAD":
        if (this.#refuses(command.turn)) return;
        return this.#begin(command.turn, null, () => this.#load(command));
      case "CONFIRMED":
        return this.#current?.turn === command.turn ? this.#current.onConfirmed?.(command.asOf) : undefined;
      case "ABORT":
        if (this.#current?.turn === command.turn) this.#current.controller.abort(abortReason(command.reason));
        return;
      case "CONNECTION_PORT":
        return this.#connect(command.port);
      case "END":
        return this.#deps.exit();
      default:
        return unreachable(command);
    }
  }

  #connect(port: MessagePort): void {
    if (this.handlers === undefined) return port.close();
    // Before the handlers hear it: they say that a turn has begun, and it is theirs then.
    port.addEventListener("message", (event: Event) => {
      const { type, turn } = (event as Event & { readonly data: { readonly type?: unknown; readonly turn?: unknown } })
        .data;
      if (type !== "EXECUTION_REQUEST" || typeof turn !== "number") return;
      if (this.#isOver(turn, "connection") || this.#refuses(turn)) event.stopImmediatePropagation();
    });
    this.handlers.connect(port);
  }

  #isOver(turn: number, owner: TurnOwner): boolean {
    const status = this.#deps.cells.read(this.#deps.slot);
    return status.state !== owner || status.turn !== turn;
  }

  /** Code of an earlier turn is in the way: nothing of this one begins. */
  #refuses(turn: number): boolean {
    const { leftBehind, cells, slot, exit } = this.#deps;
    const busyMs = leftBehind?.busyMs(cells.isKeptBusy(slot)) ?? null;
    if (busyMs === null) return false;
    this.send({ type: "LEFT_BEHIND", busyMs }, turn);
    exit();
    return true;
  }

  #begin(turn: number, subject: TurnSubject | null, code: (source: SignalSource) => Answer | Promise<Answer>): void {
    const controller = new LazyAbortController();
    this.#current = { turn, subject, controller };
    const answer = code(controller);
    if (answer instanceof Promise) void answer.then((settled) => this.#end(turn, settled));
    else this.#end(turn, answer);
  }

  #end(turn: number, answer: Answer): void {
    const { cells, slot, finder, onEnding, leftBehind } = this.#deps;
    onEnding?.();
    const isOfRun = this.#current?.subject !== null;
    this.#current = undefined;
    const isSpent = answer.type === "FAILED" && finder.isSpent;
    // False: main has given it up, and ends this thread.
    if (!(isSpent ? cells.doom(slot, turn) : cells.release(slot, turn))) return;
    this.#answer(turn, answer, isSpent);
    if (isSpent) return;
    this.#setFree();
    // What modules do once they are evaluated is not what a turn left behind.
    if (isOfRun) leftBehind?.onTurnEnd();
  }

  /** The turn is over: main hears how, whatever the answer has in it. */
  #answer(turn: number, answer: Answer, isSpent: boolean): void {
    try {
      if (answer.type === "FAILED") return this.send({ ...answer, isSpent }, turn);
      if (answer.type === "LOADED") return this.send(answer, turn);
      const { type, json, timing } = answer;
      this.#deps.post({ type, version: ISOLATION_VERSION, turn, json, timing });
    } catch (raw) {
      this.send({ type: "FAILED", thrown: readThrown(new Error(messageOf(raw))), timing: null, isSpent }, turn);
    }
  }

  /** An owner that waits tries to claim the thread then. */
  #setFree(): void {
    this.handlers?.onFree();
  }

  /** Without a promise where nothing is to be waited for. */
  #runBody(command: BodyCommand, source: SignalSource): Answer | Promise<Answer> {
    const { code, asOf } = command;
    const { clock, finder } = this.#deps;
    const body = finder.known(code);
    const isReady = body !== undefined && (asOf === null || !isUnconfirmed(asOf, clock));
    return isReady ? this.#call(body, command, source) : this.#runLater(body, command, source);
  }

  async #runLater(known: Code | undefined, command: BodyCommand, source: SignalSource): Promise<Answer> {
    const { clock, finder } = this.#deps;
    const { turn, code } = command;
    let body = known;
    try {
      if (body === undefined) {
        this.setPhase("loading");
        this.#checkTurn(turn);
        body = await finder.find(code);
        // Not wanted any more before it has begun: it does not begin.
        source.signal.throwIfAborted();
      }
      for (let { asOf } = command; asOf !== null && isUnconfirmed(asOf, clock); ) asOf = await this.#confirmed(source);
    } catch (raw) {
      return { type: "FAILED", thrown: readThrown(raw), timing: null };
    }
    return this.#call(body, command, source);
  }

  #call(body: Code, command: BodyCommand, source: SignalSource): Answer | Promise<Answer> {
    const { turn, subject, input, announces } = command;
    const { cells, slot, clock } = this.#deps;
    const what = `step "${subject.step?.id ?? subject.functionSlug}"`;
    let begun: { readonly startedMs: number; readonly fromMs: number } | undefined;
    const failed = (raw: unknown): Answer => ({
      type: "FAILED",
      thrown: readThrown(raw),
      timing: begun ? { startedMs: begun.startedMs, durationMs: clock.monotonicMs() - begun.fromMs } : null,
    });
    const done = (value: unknown, { startedMs, fromMs }: NonNullable<typeof begun>): Answer => {
      const { text, isUndefined } = encodeResult(value, what);
      const loss = lossOfResult(value);
      return {
        type: "DONE",
        json: loss ? { text, isUndefined, loss } : { text, isUndefined },
        timing: { startedMs, durationMs: clock.monotonicMs() - fromMs },
      };
    };
    try {
      const args = input instanceof Uint8Array ? (deserialize(input) as unknown[]) : input;
      const started = { startedMs: clock.nowMs(), fromMs: clock.monotonicMs() };
      begun = started;
      cells.setPhase(slot, "running", started.fromMs);
      this.#checkTurn(turn);
      if (announces) this.send({ type: "BEGUN" });
      const value = runAs(executionOf(subject), source, () => body(...args));
      return isLater(value, what) ? settled(value, (end) => done(end, started), failed) : done(value, started);
    } catch (raw) {
      return failed(raw);
    }
  }

  async #confirmed(source: SignalSource): Promise<ClockReading> {
    const asOf = await new Promise<ClockReading>((resolve) => {
      if (this.#current) this.#current.onConfirmed = resolve;
      this.setPhase("asking");
      this.send({ type: "UNCONFIRMED" });
    });
    source.signal.throwIfAborted();
    return asOf;
  }

  /** Main ends a turn that was not begun and gives it to another thread: said to begin first, then looked at. */
  #checkTurn(turn: number): void {
    if (this.#isOver(turn, "main")) throw new Error("The turn is over.");
  }

  async #load({ codes, firstPlace, withHandlers }: Extract<PoolCommand, { type: "LOAD" }>): Promise<Answer> {
    const { cells, slot, finder } = this.#deps;
    this.setPhase("loading");
    try {
      for (const [index, code] of codes.entries()) {
        cells.setLoading(slot, firstPlace + index);
        await finder.find(code);
      }
      const afterCodes = firstPlace + codes.length;
      if (withHandlers) await this.handlers?.check((index) => cells.setLoading(slot, afterCodes + index));
      return { type: "LOADED" };
    } catch (raw) {
      return { type: "FAILED", thrown: readThrown(raw), timing: null };
    } finally {
      cells.setLoading(slot, null);
    }
  }
}

function executionOf(subject: TurnSubject): Parameters<typeof runAs>[0] {
  const { step, requestId, runId, functionSlug, trace } = subject;
  const execution = { requestId, runId, functionSlug, ...(trace ? { trace } : {}) };
  if (step === undefined) return execution;
  const { id, hash, attempt } = step;
  return { ...execution, step: { id, hash, attempt, active: true } };
}

async function settled(
  value: unknown,
  done: (value: unknown) => Answer,
  failed: (thrown: unknown) => Answer,
): Promise<Answer> {
  try {
    return done(await value);
  } catch (raw) {
    return failed(raw);
  }
}

function abortReason(plain: PlainError): Error {
  const error: Error & { code?: string | HoldfastError["code"] } = new Error(plain.message);
  error.name = plain.name;
  if (plain.code !== undefined) error.code = plain.code;
  return error;
}
