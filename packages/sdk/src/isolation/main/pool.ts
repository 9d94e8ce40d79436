/**
 * The pool of threads for code that computes, on main: takes turns, lets `machines/pool-machine.ts` decide which thread
 * has which, and settles each turn once. Only main can start and end threads; the connection thread claims free ones
 * by itself (`shared/thread-cells.ts`).
 */
import type { MessagePort } from "node:worker_threads";
import {
  type BackoffPolicy,
  backoffDelayMs,
  createDriver,
  type Driver,
  HoldfastError,
  messageOf,
  type PlainError,
  readClocks,
  type TimerHandle,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import type { CancelSignal } from "../../execution/abort.ts";
import { readThrown } from "../../execution/thrown.ts";
import { nodeModule } from "../../runtime.ts";
import { createPoolStep } from "../machines/pool-machine.ts";
import {
  POOL_START,
  type PoolEffect,
  type PoolEvent,
  type PoolState,
  type PoolTurn,
  slotCount,
} from "../machines/pool-types.ts";
import {
  areShort,
  type CodeReference,
  checkSize,
  ISOLATION_VERSION,
  MAX_INPUT_BYTES,
  type ShortValues,
  type TurnSubject,
} from "../shared/isolation-messages.ts";
import { named } from "../shared/subject-text.ts";
import { cellsBytes, type ThreadCells, threadCells } from "../shared/thread-cells.ts";
import { LOOK_EVERY_MS } from "./between-turns.ts";
import { publishPoolEvent, publishTurnStart } from "./pool-publisher.ts";
import { PoolSlot } from "./pool-slot.ts";
import type { BodyTurn, IsolationDebugState, PoolDeps, TurnEnd } from "./pool-types.ts";
import type { GivenTurn } from "./slot-types.ts";
import { failedTurn, LOAD_MS } from "./turn-failures.ts";

const START_BACKOFF: BackoffPolicy = { baseMs: 100, factor: 2, maxMs: 10_000, jitter: 0.2 };
const MIN_IDLE_CHECK_MS = 5;

interface Turn extends GivenTurn {
  readonly sinceMs: number;
  readonly settle: (end: TurnEnd) => void;
  /** Why it is not wanted any more. */
  abortedFor?: PlainError;
}

/** What is evaluated in which thread; by default all handlers are, too, without a memory limit. */
export interface LoadOptions {
  readonly memoryMb: number;
  readonly withHandlers: boolean;
  /** Of the first code, in the list of all that is evaluated. */
  readonly firstPlace: number;
  readonly moduleAt: (place: number) => string | undefined;
}

export class IsolationPool {
  /** The memory that every thread that takes part is given. */
  readonly buffer: SharedArrayBuffer;
  readonly cells: ThreadCells;
  readonly #deps: PoolDeps;
  readonly #driver: Driver<PoolState, PoolEvent>;
  readonly #turns = new Map<number, Turn>();
  readonly #slots = new Map<number, PoolSlot>();
  readonly #onStopped: (() => void)[] = [];
  #nextKey = 1;
  #onPort: ((slot: number, port: MessagePort) => void) | undefined;
  #idleTimer: TimerHandle | undefined;
  #lookTimer: TimerHandle | undefined;
  #backoffTimer: TimerHandle | undefined;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
    this.buffer = deps.memory ?? new SharedArrayBuffer(cellsBytes(slotCount(deps.rules)));
    this.cells = threadCells(this.buffer);
    this.#driver = createDriver<PoolState, PoolEvent, PoolEffect>({
      initial: POOL_START,
      step: createPoolStep(deps.rules),
      run: (effect) => this.#run(effect),
      nowMs: () => deps.clock.nowMs(),
      traceSize: 0,
    });
    if (deps.rules.warm > 0) this.want(deps.rules.warm);
  }

  /** Runs a step's body in a thread. Never rejects. */
  runBody(body: BodyTurn, signal: CancelSignal): Promise<TurnEnd> {
    const { code, subject, budgetMs, memoryMb, whenConfirmed, onBegun } = body;
    let input: Uint8Array | ShortValues;
    try {
      input = inputOf(body.args);
    } catch (error) {
      return Promise.resolve({ type: "failed", thrown: readThrown(unsendable(subject, error)), timing: null });
    }
    const version = ISOLATION_VERSION;
    // Copied, not moved: another thread may be given the turn, and needs them too.
    const send: GivenTurn["send"] = (thread, turn, announces, asOf) =>
      thread.post({ type: "RUN_BODY", version, turn, code, subject, input, announces, asOf });
    const confirmation = whenConfirmed && { whenConfirmed, asOf: readClocks(this.#deps.clock) };
    return this.#submit({ subject, budgetMs, send, module: code.module, confirmation, onBegun }, { memoryMb }, signal);
  }

  /**
   * Evaluates the modules of isolated code in a thread, and looks for the code there.
   * @throws HoldfastError `ISOLATE_MODULE_INVALID`, `ISOLATE_CONNECT`, `ISOLATE_LISTEN`, `ISOLATE_THREAD_LOST`
   */
  async load(codes: readonly CodeReference[], options: Partial<LoadOptions> = {}): Promise<void> {
    const { memoryMb = 0, firstPlace = 0, withHandlers = true, moduleAt } = options;
    const send: GivenTurn["send"] = (thread, turn) =>
      thread.send({ type: "LOAD", codes, firstPlace, withHandlers }, turn);
    const end = await this.#submit(
      { subject: null, budgetMs: LOAD_MS, moduleAt, send },
      { memoryMb, isImpatient: true },
    );
    if (end.type === "done") return;
    const { code, message, cause } = end.thrown.error;
    const known = (["ISOLATE_MODULE_INVALID", "ISOLATE_CONNECT", "ISOLATE_LISTEN"] as const).find(
      (one) => one === code,
    );
    throw new HoldfastError(known ?? "ISOLATE_THREAD_LOST", message, { cause });
  }

  /** From now on at least this many threads are kept. */
  want(count: number): void {
    this.#send({ type: "WANT", count });
  }

  /** The connection thread gave the thread of this slot a turn: it has to begin with it. */
  expect(slot: number, turn: number): void {
    for (const made of this.#slots.values()) if (made.slot === slot) made.expect(turn);
  }

  /** Gives every thread, now and later, a port of which `onPort` gets the other end: for the connection thread. */
  connectPorts(onPort: (slot: number, port: MessagePort) => void): void {
    this.#onPort = onPort;
    for (const slot of this.#slots.values()) if (slot.isReady) slot.connectPort(onPort);
  }

  debugState(): IsolationDebugState {
    const { threads, queue, counts } = this.#driver.state;
    const nowMs = this.#deps.clock.monotonicMs();
    const ages = [...this.#turns.values()].map(({ sinceMs }) => nowMs - sinceMs);
    const count = (...types: readonly string[]): number =>
      threads.filter(({ phase }) => types.includes(phase.type)).length;
    return {
      threads: threads.length - count("abandoned"),
      busy: count("busy", "lent"),
      queued: queue.length,
      oldestMs: ages.length === 0 ? null : Math.round(Math.max(...ages)),
      ...counts,
      abandoned: count("abandoned"),
    };
  }

  /** Ends all threads; turns that have not ended fail. Resolves when no thread is left that can end. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#driver.state.isStopped) return resolve();
      this.#onStopped.push(resolve);
      this.#idleTimer?.cancel();
      this.#lookTimer?.cancel();
      this.#backoffTimer?.cancel();
      const reason = new HoldfastError("CONNECT_CLOSED", "The connection is closed, and its threads with it.");
      this.#send({ type: "STOP", reason: toPlainError(reason) });
    });
  }

  #submit(given: Omit<GivenTurn, "key">, wants: Omit<PoolTurn, "key">, signal?: CancelSignal): Promise<TurnEnd> {
    const key = this.#nextKey;
    this.#nextKey += 1;
    return new Promise((resolve) => {
      const onAbort = (): void => this.#withdraw(key, toPlainError(signal?.reason));
      const settle = (end: TurnEnd): void => {
        signal?.removeEventListener("abort", onAbort);
        this.#turns.delete(key);
        this.#noteFigures();
        resolve(end);
      };
      const sinceMs = this.#deps.clock.monotonicMs();
      this.#turns.set(key, { ...given, key, sinceMs, settle });
      this.#send({ type: "SUBMIT", turn: { ...wants, key } });
      // A thread that was free wakes up meanwhile.
      if (signal === undefined || !this.#turns.has(key)) return;
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #withdraw(key: number, reason: PlainError): void {
    const turn = this.#turns.get(key);
    if (turn === undefined) return;
    turn.abortedFor = reason;
    this.#send({ type: "WITHDRAW", key });
  }

  readonly #send = (event: PoolEvent): void => {
    publishPoolEvent(event, this.#deps.clock);
    // Said before any thread is tried, so that one that becomes free in between says so.
    if (event.type === "SUBMIT") this.cells.setWaiting("main", true);
    this.#driver.send(event);
    if (this.#driver.state.queue.length === 0) this.cells.setWaiting("main", false);
    this.#noteFigures();
    this.#watchIdle();
    this.#watchFree();
  };

  /** Where the connection thread reads them, which goes on while this one is blocked. */
  #noteFigures(): void {
    const { threads, queue, counts } = this.#driver.state;
    let abandoned = 0;
    for (const { phase } of threads) if (phase.type === "abandoned") abandoned += 1;
    const [oldest] = this.#turns.values();
    const live = threads.length - abandoned;
    this.cells.setFigures({ threads: live, queued: queue.length, ...counts, abandoned }, oldest?.sinceMs ?? null);
  }

  #watchIdle(): void {
    const { idleMs } = this.#deps.rules;
    const { threads, isStopping } = this.#driver.state;
    if (idleMs === null || isStopping || this.#idleTimer !== undefined || threads.length === 0) return;
    const check = (): void => {
      this.#idleTimer = undefined;
      this.#send({ type: "IDLE_CHECK", nowMs: this.#deps.clock.monotonicMs() });
    };
    this.#idleTimer = this.#deps.timers.set(Math.max(MIN_IDLE_CHECK_MS, idleMs / 2), check, { unref: true });
  }

  /** A thread without a turn has nothing to compute. */
  #watchFree(): void {
    const { threads, isStopping } = this.#driver.state;
    if (isStopping || this.#lookTimer !== undefined || threads.length === 0) return;
    const look = (): void => {
      this.#lookTimer = undefined;
      for (const slot of [...this.#slots.values()]) slot.lookBetweenTurns();
      this.#watchFree();
    };
    this.#lookTimer = this.#deps.timers.set(LOOK_EVERY_MS, look, { unref: true });
  }

  #run(effect: PoolEffect): void {
    switch (effect.do) {
      case "SPAWN":
        return this.#spawn(effect);
      case "GIVE":
        return this.#give(effect.id, effect.turn.key);
      case "RETIRE":
        return this.#slots.get(effect.id)?.retire() ? undefined : this.#notFree(effect.id);
      case "TERMINATE":
        return this.#slots.get(effect.id)?.terminate();
      case "ABORT": {
        const reason = this.#turns.get(effect.key)?.abortedFor;
        return reason && this.#slots.get(effect.id)?.abort(effect.key, reason);
      }
      case "DROP": {
        const turn = this.#turns.get(effect.key);
        return turn?.settle({ type: "failed", thrown: readThrown(turn.abortedFor), timing: null });
      }
      case "FAIL":
        return this.#fail(effect);
      case "BACK_OFF":
        return this.#backOff(effect);
      case "STOPPED":
        for (const resolve of this.#onStopped) resolve();
        return;
      default:
        return unreachable(effect);
    }
  }

  #spawn({ id, slot, memoryMb }: Extract<PoolEffect, { do: "SPAWN" }>): void {
    const { buffer, cells } = this;
    const onReady = (made: PoolSlot): void => (this.#onPort ? made.connectPort(this.#onPort) : undefined);
    const onEnd = (key: number, end: TurnEnd): void => this.#turns.get(key)?.settle(end);
    const send = (event: PoolEvent): void => {
      if (event.type === "EXITED") this.#slots.delete(id);
      this.#send(event);
    };
    this.#slots.set(id, new PoolSlot({ ...this.#deps, id, slot, memoryMb, buffer, cells, send, onReady, onEnd }));
  }

  #backOff({ failures, reason }: Extract<PoolEffect, { do: "BACK_OFF" }>): void {
    const { random, timers, log } = this.#deps;
    const delayMs = backoffDelayMs(START_BACKOFF, failures, random);
    this.#backoffTimer = timers.set(delayMs, () => this.#send({ type: "BACKOFF_OVER" }));
    if (reason === null) return;
    const next = `The next one is started in ${Math.round(delayMs)} ms; what finds no thread waits.`;
    log("warn", `${reason.message} ${next}`, { code: reason.code });
  }

  #give(id: number, key: number): void {
    const turn = this.#turns.get(key);
    if (turn === undefined || !this.#slots.get(id)?.give(turn)) return this.#notFree(id);
    publishTurnStart(id, turn.subject, this.#deps.clock);
  }

  #notFree(id: number): void {
    this.#driver.send({ type: "NOT_FREE", id });
  }

  #fail({ key, cause, reason }: Extract<PoolEffect, { do: "FAIL" }>): void {
    const turn = this.#turns.get(key);
    if (turn === undefined) return;
    const thrown = failedTurn(turn.subject, cause, reason);
    // That the attempt failed is logged where the step is; here only what that does not say.
    const why = turn.abortedFor;
    if (why) {
      const isCut = reason === null || reason.message === why.message;
      const what = isCut ? `its code went on after that, and its thread was ended: ${why.message}` : reason.message;
      this.#deps.log("warn", named(turn.subject, what), { code: why.code });
    }
    turn.settle({ type: "failed", thrown, timing: null });
  }
}

function inputOf(args: readonly unknown[]): Uint8Array | ShortValues {
  if (areShort(args)) return args;
  const input = nodeModule("node:v8").serialize(args);
  checkSize("arguments", input.byteLength, MAX_INPUT_BYTES);
  return input;
}

function unsendable(subject: TurnSubject, error: unknown): HoldfastError {
  if (HoldfastError.is(error)) return error;
  return new HoldfastError(
    "ISOLATE_VALUE_INVALID",
    named(
      subject,
      `its arguments cannot cross to a thread: ${messageOf(error).replace(/\.$/, "")}. Pass plain data: no functions and no open handles.`,
    ),
    { cause: error },
  );
}
