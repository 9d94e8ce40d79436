/**
 * A thread of the pool and the turn that it has: claims it, watches the time of its turn, ends it, and passes on what
 * it says. Which thread gets which turn is decided in `machines/pool-machine.ts`.
 */
import type { MessagePort } from "node:worker_threads";
import {
  type ClockReading,
  HoldfastError,
  type PlainError,
  readClocks,
  type TimerHandle,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import { nodeModule } from "../../runtime.ts";
import type { CutCause, PoolEvent } from "../machines/pool-types.ts";
import { ISOLATION_VERSION, isUnconfirmed, type PoolReport, type TurnSubject } from "../shared/isolation-messages.ts";
import { named } from "../shared/subject-text.ts";
import type { ThreadCells } from "../shared/thread-cells.ts";
import { publishStep, setHeard } from "./pool-publisher.ts";
import { PoolThread } from "./pool-thread.ts";
import type { PoolDeps, TurnEnd } from "./pool-types.ts";
import { type Answer, endOf, logOutput } from "./turn-answers.ts";
import { BEGIN_MS, LOAD_MS, type Overrun, overrunError, overrunReason } from "./turn-failures.ts";

/** Whether the turn's work is known to be ours: as of when, and whom to ask again. */
export interface Confirmation {
  readonly whenConfirmed: () => Promise<void> | undefined;
  readonly asOf: ClockReading;
}

/** A turn of main's. */
export interface GivenTurn {
  readonly key: number;
  readonly subject: TurnSubject | null;
  readonly budgetMs: number;
  readonly send: (thread: PoolThread, turn: number, announces: boolean, asOf: ClockReading | null) => void;
  /** Absent: it is ours, whatever happens. */
  readonly confirmation?: Confirmation | undefined;
  /** The module of its code, where that runs. */
  readonly module?: string | undefined;
  /** The code begins: at once where the thread has evaluated the module, else when it says so. */
  readonly onBegun?: (() => void) | undefined;
}

export interface PoolSlotDeps extends Omit<PoolDeps, "rules" | "random"> {
  readonly id: number;
  readonly slot: number;
  readonly memoryMb: number;
  readonly buffer: SharedArrayBuffer;
  readonly cells: ThreadCells;
  readonly send: (event: PoolEvent) => void;
  readonly onReady: (slot: PoolSlot) => void;
  readonly onEnd: (key: number, end: TurnEnd) => void;
}

type Given = Pick<GivenTurn, "subject" | "module" | "onBegun" | "confirmation" | "budgetMs">;

interface CurrentTurn {
  readonly turn: number;
  /** Null: it is the connection thread's. */
  readonly key: number | null;
}

/** How long code that is not wanted any more may go on before its thread is ended. */
const ABORT_GRACE_MS = 5_000;
const MIN_CHECK_MS = 5;
/**
 * At its limit a thread may take 16 MB more until it ends; then Node ends the process. Of the room that new objects have by
 * default (48 MB, Node 24: 192) more than that can become old at once. docs/code-that-computes.md has the measurements.
 */
const YOUNG_MB = 24;
/** What has been posted is read meanwhile. */
const READ_MS = 100;

export class PoolSlot {
  isReady = false;
  readonly #deps: PoolSlotDeps;
  readonly #thread: PoolThread;
  #current: (Given & CurrentTurn) | undefined;
  /** The last turn of the connection thread's. */
  #lent: { readonly turn: number; readonly subject: TurnSubject | null } | undefined;
  readonly #evaluated = new Set<string>();
  #alarm: TimerHandle | undefined;
  /** Main looks at what the thread does, and ends its turn then. */
  #onLookedAt: ((stack: string | null) => void) | undefined;

  constructor(deps: PoolSlotDeps) {
    this.#deps = deps;
    const { id, slot, memoryMb, cells, send } = deps;
    cells.prepare(slot, memoryMb);
    const given = { maxYoungGenerationSizeMb: YOUNG_MB, ...deps.resourceLimits };
    const limits = memoryMb > 0 ? { ...given, maxOldGenerationSizeMb: memoryMb } : given;
    this.#thread = new PoolThread({
      spawn: () => deps.spawn({ version: ISOLATION_VERSION, slot, cells: deps.buffer }, limits),
      timers: deps.timers,
      log: deps.log,
      memoryMb: limits.maxOldGenerationSizeMb ?? 0,
      onReport: (report) => this.#onReport(report),
      onExited: (reason) => {
        this.#alarm?.cancel();
        // It was over its time before it ended in some other way.
        this.#onLookedAt?.(null);
        this.#loseLent(reason);
        cells.vacate(slot);
        send({ type: "EXITED", id, reason });
      },
      onNotEnding: (reason) => send({ type: "NOT_ENDING", id, reason }),
    });
  }

  /** False: the connection thread was quicker. */
  give(given: GivenTurn): boolean {
    const { cells, slot, clock } = this.#deps;
    const turn = cells.claim(slot, "main");
    if (turn === null) return false;
    cells.setPhase(slot, "waiting", clock.monotonicMs());
    const { key, subject, budgetMs, module, onBegun, confirmation } = given;
    this.#current = { turn, key, subject, budgetMs, module, onBegun, confirmation };
    const asOf = given.confirmation === undefined ? null : this.#confirmedAsOf(given.confirmation);
    const isRecent = asOf === null || !isUnconfirmed(asOf, clock);
    const isEvaluated = isRecent && given.module !== undefined && this.#evaluated.has(given.module);
    try {
      given.send(this.#thread, turn, !isEvaluated, asOf);
    } catch (error) {
      this.#cut(toPlainError(error));
      return true;
    }
    // The thread wakes up meanwhile.
    this.#watch(budgetMs);
    if (isEvaluated) given.onBegun?.();
    return true;
  }

  /** It may have stood in line for long. */
  #confirmedAsOf({ whenConfirmed, asOf }: Confirmation): ClockReading {
    const { clock } = this.#deps;
    return isUnconfirmed(asOf, clock) && whenConfirmed() === undefined ? readClocks(clock) : asOf;
  }

  /** The thread was to begin, and too much time has passed: it waits for this. */
  #confirm(turn: number): void {
    const { cells, slot, clock } = this.#deps;
    const current = this.#current;
    const status = cells.read(slot);
    // The turn may be over by now, and the thread gone: nothing is to be watched then.
    if (current?.turn !== turn || current.key === null || status.state !== "main" || status.turn !== turn) return;
    this.#alarm?.cancel();
    const wait = current.confirmation?.whenConfirmed();
    if (wait) return void wait.then(() => this.#confirm(turn));
    cells.setPhase(slot, "waiting", clock.monotonicMs());
    this.#watch(current.budgetMs);
    this.#thread.send({ type: "CONFIRMED", asOf: readClocks(clock) }, turn);
  }

  get slot(): number {
    return this.#deps.slot;
  }

  /**
   * The connection thread gave it this turn. That it has begun the thread says itself; main may read that late, so it
   * looks twice.
   */
  expect(turn: number): void {
    const { timers, cells } = this.#deps;
    setHeard(cells);
    const isStill = (): boolean => this.#lent?.turn !== turn && this.#isLentTurn(turn);
    timers.set(BEGIN_MS, () => isStill() && timers.set(READ_MS, () => isStill() && this.#endUnbegun(turn)), {
      unref: true,
    });
  }

  #isLentTurn(turn: number): boolean {
    const status = this.#deps.cells.read(this.#deps.slot);
    return status.state === "connection" && status.turn === turn;
  }

  #endUnbegun(turn: number): void {
    const { id, send, isDebugged } = this.#deps;
    if (isDebugged()) return this.expect(turn);
    this.#current = { turn, key: null, subject: null, budgetMs: BEGIN_MS };
    send({ type: "LENT", id });
    this.#overrun({ phase: "waiting", forMs: BEGIN_MS, budgetMs: BEGIN_MS });
  }

  /** Lets the thread end, if it is free. */
  retire(): boolean {
    const { cells, slot } = this.#deps;
    if (!cells.doom(slot, null)) return false;
    this.#thread.end();
    return true;
  }

  terminate(): void {
    const { cells, slot } = this.#deps;
    this.#alarm?.cancel();
    this.#onLookedAt = undefined;
    this.#loseLent(toPlainError(new HoldfastError("ISOLATE_THREAD_LOST", "Its thread was ended.")));
    cells.condemn(slot);
    this.#thread.terminate();
  }

  abort(key: number, reason: PlainError): void {
    if (this.#current?.key !== key) return;
    const { turn } = this.#current;
    this.#thread.send({ type: "ABORT", reason }, turn);
    const onGraceOver = (): void => (this.#current?.turn === turn ? this.#cut(reason) : undefined);
    this.#deps.timers.set(ABORT_GRACE_MS, onGraceOver, { unref: true });
  }

  connectPort(onPort: (slot: number, port: MessagePort) => void): void {
    const { port1, port2 } = new (nodeModule("node:worker_threads").MessageChannel)();
    this.#thread.send({ type: "CONNECTION_PORT", port: port1 }, 0, [port1]);
    onPort(this.#deps.slot, port2);
  }

  /** Looks at the thread's own clock, since time counts from when its code began. */
  #watch(budgetMs: number, inMs = Math.min(budgetMs, BEGIN_MS)): void {
    const { cells, slot, clock, timers, isDebugged } = this.#deps;
    this.#alarm?.cancel();
    this.#alarm = timers.set(Math.max(MIN_CHECK_MS, inMs), () => {
      if (this.#current === undefined) return;
      const { phase, forMs } = cells.readPhase(slot, clock.monotonicMs());
      const limitMs = phase === "running" ? budgetMs : phase === "loading" ? LOAD_MS : BEGIN_MS;
      // Code may begin at any moment, and its time is shorter than what is left to begin.
      if (forMs < limitMs) return this.#watch(budgetMs, Math.min(budgetMs, limitMs - forMs));
      if (isDebugged()) return this.#watch(budgetMs, LOAD_MS);
      this.#overrun({ phase, forMs, budgetMs });
    });
  }

  /** Its time is over: no turn any more, then a look at what it does, then its end. */
  #overrun(overrun: Overrun): void {
    const { cells, slot, clock } = this.#deps;
    const current = this.#current;
    if (current === undefined || !cells.doom(slot, current.turn)) return;
    // A thread that begins now sees that it is doomed, and does not run the code.
    const isBegun = overrun.phase !== "waiting" || cells.readPhase(slot, clock.monotonicMs()).phase !== "waiting";
    this.#onLookedAt = (stack) => {
      this.#onLookedAt = undefined;
      if (!isBegun) return this.#end(current, toPlainError(overrunError(current.subject, overrun, stack)), "not-begun");
      // Of a turn of the connection thread's, that names the steps that were running.
      const isLent = current.key === null;
      const reason = isLent
        ? overrunReason(overrun, stack)
        : toPlainError(overrunError(current.subject, overrun, stack));
      this.#end(current, reason, "overrun");
    };
    void this.#thread.readStack().then((stack) => this.#onLookedAt?.(stack));
  }

  /** Unless the turn has ended this very moment. */
  #cut(reason: PlainError): void {
    const { cells, slot } = this.#deps;
    if (this.#current === undefined || !cells.doom(slot, this.#current.turn)) return;
    this.#end(this.#current, reason, "unwanted");
  }

  #end({ key, turn }: CurrentTurn, reason: PlainError, why: CutCause): void {
    const { id, send } = this.#deps;
    if (key === null) this.#loseLent(reason, turn);
    send({ type: "CUT", id, reason, why });
  }

  #onReport(report: PoolReport): void {
    const { id, send, log, clock, onReady } = this.#deps;
    switch (report.type) {
      case "READY":
        this.isReady = true;
        setHeard(this.#deps.cells);
        onReady(this);
        return send({ type: "READY", id, nowMs: clock.monotonicMs() });
      case "BEGUN":
        return this.#onBegun(report.turn);
      case "UNCONFIRMED":
        return this.#confirm(report.turn);
      case "DONE":
      case "FAILED":
      case "LOADED":
        return this.#onAnswer(report);
      case "OUTPUT":
        return logOutput(report, this.#subjectOf(report.turn), this.#deps);
      case "LOG":
        return log(report.level, report.message, report.data, report.inWords);
      case "LENT":
        this.#lent = { turn: report.turn, subject: report.subject };
        // Main has taken the thread since then: that turn is over, and what it was is read late.
        if (this.#current !== undefined && this.#current.key !== null) return;
        this.#current = { turn: report.turn, key: null, subject: report.subject, budgetMs: report.budgetMs };
        this.#watch(report.budgetMs);
        return send({ type: "LENT", id });
      case "RETURNED":
        if (this.#current?.turn === report.turn) this.#endTurn();
        return send({ type: "RETURNED", id, nowMs: clock.monotonicMs() });
      case "REFUSED":
        log("error", `A pool thread refused a message: ${report.error.message}`, { code: report.error.code });
        // Nothing else will answer this turn.
        return report.turn !== 0 && this.#current?.turn === report.turn ? this.#cut(report.error) : undefined;
      case "STEP":
        return publishStep(report.step);
      case "CRASHING":
        return;
      default:
        return unreachable(report);
    }
  }

  #onBegun(turn: number): void {
    if (this.#current?.turn !== turn) return;
    const { module, onBegun } = this.#current;
    if (module !== undefined) this.#evaluated.add(module);
    onBegun?.();
  }

  #onAnswer(answer: Answer): void {
    const { id, send, clock, onEnd } = this.#deps;
    const current = this.#current;
    // A late answer: its turn was ended.
    if (current?.turn !== answer.turn || current.key === null) return;
    this.#endTurn();
    // The thread first: what the answer leads to may be the next turn.
    send({ type: "FINISHED", id, key: current.key, nowMs: clock.monotonicMs() });
    onEnd(current.key, endOf(answer));
  }

  #endTurn(): void {
    this.#alarm?.cancel();
    this.#current = undefined;
  }

  #subjectOf(turn: number): TurnSubject | null {
    return [this.#current, this.#lent].find((one) => one?.turn === turn)?.subject ?? null;
  }

  /** Says so if the thread has a turn of the connection thread's. */
  #loseLent(reason: PlainError, known?: number): void {
    const { cells, slot, log, onTurnLost } = this.#deps;
    const { state, turn } = cells.read(slot);
    if (known === undefined && state !== "connection") return;
    const subject = this.#current?.subject ?? null;
    this.#endTurn();
    log("warn", named(subject, reason.message), { code: reason.code });
    onTurnLost?.({ slot, turn: known ?? turn, reason });
  }
}
