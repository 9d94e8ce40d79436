/**
 * A thread of the pool and the turn that it has: claims it, watches the time of its turn, ends it, and passes on what
 * it says. Which thread gets which turn is decided in `machines/pool-machine.ts`.
 */
import type { MessagePort } from "node:worker_threads";
import { HoldfastError, type PlainError, plainError, readClocks, toPlainError, unreachable } from "@holdfast/core";
import { nodeModule } from "../../runtime.ts";
import type { CutCause } from "../machines/pool-types.ts";
import { ISOLATION_VERSION, isUnconfirmed, type PoolReport, type TurnSubject } from "../shared/isolation-messages.ts";
import type { LastWords } from "../shared/last-words.ts";
import { named } from "../shared/subject-text.ts";
import { BetweenTurns } from "./between-turns.ts";
import { publishStep, setHeard } from "./pool-publisher.ts";
import { PoolThread } from "./pool-thread.ts";
import type { TurnEnd } from "./pool-types.ts";
import { dataOfEnd, logEndBetweenTurns, textOfLostTurn } from "./slot-log.ts";
import { type CurrentTurn, confirmedAsOf, type GivenTurn, type PoolSlotDeps, unbegunLent } from "./slot-types.ts";
import { limitsOf } from "./spawn-pool-thread.ts";
import { type Answer, endOf, logOutput } from "./turn-answers.ts";
import { TurnClock } from "./turn-clock.ts";
import {
  BEGIN_MS,
  failedTurn,
  leftBehindReason,
  type Overrun,
  overrunError,
  overrunReason,
  READ_MS,
} from "./turn-failures.ts";

/** How long code that is not wanted any more may go on before its thread is ended. */
const ABORT_GRACE_MS = 5_000;

export class PoolSlot {
  isReady = false;
  readonly #deps: PoolSlotDeps<PoolSlot>;
  readonly #thread: PoolThread;
  readonly #clock: TurnClock;
  readonly #between: BetweenTurns;
  #current: CurrentTurn | undefined;
  /** The last turn of the connection thread's. */
  #lent: { readonly turn: number; readonly subject: TurnSubject | null } | undefined;
  /** Whose turn was the last one that ended here. */
  #last: TurnSubject | null = null;
  readonly #evaluated = new Set<string>();
  /** Main has ended it, or lets it end. */
  #isEnding = false;
  /** Main looks at what the thread does, and ends its turn then. */
  #onLookedAt: ((words: LastWords | null) => void) | undefined;

  constructor(deps: PoolSlotDeps<PoolSlot>) {
    this.#deps = deps;
    const { id, slot, memoryMb, cells, send } = deps;
    cells.prepare(slot, memoryMb);
    const limits = limitsOf(deps.resourceLimits, memoryMb);
    this.#clock = new TurnClock({
      ...deps,
      onOverrun: (overrun) => this.#overrun(overrun),
      onUnanswered: () => this.#onUnanswered(),
    });
    this.#between = new BetweenTurns(cells, slot);
    this.#thread = new PoolThread({
      spawn: () => deps.spawn({ version: ISOLATION_VERSION, slot, cells: deps.buffer }, limits),
      timers: deps.timers,
      log: deps.log,
      memoryMb: limits.maxOldGenerationSizeMb ?? 0,
      evaluating: () => this.#current?.moduleAt?.(cells.readLoading(slot) ?? -1),
      onReport: (report) => this.#onReport(report),
      onExited: (reason, isShortage) => this.#onExited(reason, isShortage),
      onNotEnding: (reason) => send({ type: "NOT_ENDING", id, reason }),
    });
  }

  /** False: the connection thread was quicker. */
  give(given: GivenTurn): boolean {
    const { cells, slot, clock } = this.#deps;
    const turn = cells.claim(slot, "main");
    if (turn === null) return false;
    cells.setPhase(slot, "waiting", clock.monotonicMs());
    const { key, subject, budgetMs, module, moduleAt, onBegun, confirmation } = given;
    this.#current = { turn, key, subject, module, moduleAt, onBegun, confirmation };
    if (cells.isKeptBusy(slot)) {
      this.#giveBack(this.#current, null);
      return true;
    }
    const asOf = confirmation === undefined ? null : confirmedAsOf(confirmation, clock);
    const isRecent = asOf === null || !isUnconfirmed(asOf, clock);
    const isEvaluated = isRecent && given.module !== undefined && this.#evaluated.has(given.module);
    try {
      given.send(this.#thread, turn, !isEvaluated, asOf);
    } catch (error) {
      this.#cut(toPlainError(error));
      return true;
    }
    // The thread wakes up meanwhile.
    this.#clock.start(turn, budgetMs);
    if (isEvaluated) given.onBegun?.();
    return true;
  }

  /** The thread was to begin, and too much time has passed: it waits for this. */
  #confirm(turn: number): void {
    const { cells, slot, clock } = this.#deps;
    const current = this.#current;
    // The turn may be over by now, and the thread gone.
    if (current?.turn !== turn || current.key === null || !cells.hasTurn(slot, turn)) return;
    this.#clock.onAsked();
    const wait = current.confirmation?.whenConfirmed();
    if (wait) return void wait.then(() => this.#confirm(turn));
    this.#clock.onConfirmed();
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
    const { timers, cells, slot } = this.#deps;
    setHeard(cells);
    const isStill = (): boolean => this.#lent?.turn !== turn && cells.hasTurn(slot, turn);
    if (isStill() && cells.isKeptBusy(slot)) return this.#giveBack(unbegunLent(turn), null);
    timers.set(BEGIN_MS, () => isStill() && timers.set(READ_MS, () => isStill() && this.#endUnbegun(turn)), {
      unref: true,
    });
  }

  #endUnbegun(turn: number): void {
    if (this.#deps.isDebugged()) return this.expect(turn);
    this.#current = unbegunLent(turn);
    this.#overrun({ phase: "waiting", forMs: BEGIN_MS, budgetMs: BEGIN_MS });
  }

  /** Lets the thread end, if it is free. */
  retire(): boolean {
    const { cells, slot } = this.#deps;
    if (!cells.doom(slot, null)) return false;
    this.#isEnding = true;
    this.#thread.end();
    return true;
  }

  terminate(): void {
    const { cells, slot } = this.#deps;
    this.#isEnding = true;
    this.#clock.stop();
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

  /** Looks whether a thread that is free computes all the same. It gets no turn then, and is ended if it goes on. */
  lookBetweenTurns(): void {
    const { id, cells, slot, clock, log, send, isDebugged } = this.#deps;
    if (this.#last === null) return;
    const busyMs = this.#between.look(this.#thread.activeMs, clock.monotonicMs());
    if (busyMs < BEGIN_MS || isDebugged() || !cells.doom(slot, null)) return;
    const reason = leftBehindReason(busyMs, this.#last);
    log("warn", `A thread of the pool was ended: ${reason.message}`, dataOfEnd(reason, this.#last));
    send({ type: "CUT", id, reason, why: "left-behind" });
  }

  /** Its time is over: no turn any more, then a look at what it does, then its end. */
  #overrun(overrun: Overrun): void {
    const { cells, slot } = this.#deps;
    const current = this.#current;
    if (current === undefined || !cells.doom(slot, current.turn)) return;
    // A thread that begins now sees that it is doomed, and does not run the code.
    const isBegun = overrun.phase !== "waiting" || (current.key !== null && this.#hasBegun());
    this.#onLookedAt = (words) => {
      this.#onLookedAt = undefined;
      const seen = { words, last: this.#last };
      if (!isBegun) return this.#endUnbegunTurn(current, overrunReason(overrun, seen));
      // Of a turn of the connection thread's, that names the steps that were running.
      const reason = current.key === null ? overrunReason(overrun, seen) : overrunError(current.subject, overrun, seen);
      this.#end(current, reason, "overrun");
    };
    void this.#thread.readLastWords().then((words) => this.#onLookedAt?.(words));
  }

  /** With its turn of main's. */
  #hasBegun(): boolean {
    const { cells, slot, clock } = this.#deps;
    const { phase } = cells.readPhase(slot, clock.monotonicMs());
    return phase === "loading" || phase === "running";
  }

  /** Another thread gets the turn, unless this one has begun with it. */
  #giveBack(current: CurrentTurn, busyMs: number | null): void {
    const { cells, slot } = this.#deps;
    if (!cells.doom(slot, current.turn)) return;
    this.#current = current;
    this.#endUnbegunTurn(current, leftBehindReason(busyMs, this.#last));
  }

  #endUnbegunTurn(current: CurrentTurn, reason: PlainError): void {
    const { id, send, log } = this.#deps;
    if (current.key === null) send({ type: "LENT", id });
    else log("warn", named(current.subject, reason.message), dataOfEnd(reason, this.#last));
    this.#end(current, reason, "left-behind");
  }

  /** Unless the turn has ended this very moment. */
  #cut(reason: PlainError): void {
    const { cells, slot } = this.#deps;
    if (this.#current === undefined || !cells.doom(slot, this.#current.turn)) return;
    this.#end(this.#current, reason, "unwanted");
  }

  #end({ key, turn }: CurrentTurn, reason: PlainError, why: CutCause): void {
    const { id, send } = this.#deps;
    this.#isEnding = true;
    this.#clock.stop();
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
      case "LEFT_BEHIND":
        return this.#onLeftBehind(report);
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
        this.#current = { turn: report.turn, key: null, subject: report.subject };
        this.#clock.start(report.turn, report.budgetMs);
        return send({ type: "LENT", id });
      case "RETURNED":
        if (this.#current?.turn === report.turn) this.#endTurn();
        return send({ type: "RETURNED", id, nowMs: clock.monotonicMs(), isSpent: report.isSpent });
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

  #onLeftBehind({ turn, busyMs }: Extract<PoolReport, { type: "LEFT_BEHIND" }>): void {
    this.#giveBack(this.#current?.turn === turn ? this.#current : unbegunLent(turn), busyMs);
  }

  #onAnswer(answer: Answer): void {
    const current = this.#current;
    // A late answer: its turn was ended.
    if (current?.turn !== answer.turn || current.key === null) return;
    this.#finish(current.key, endOf(answer), answer.type === "FAILED" && answer.isSpent);
  }

  #finish(key: number, end: TurnEnd, isSpent = false): void {
    const { id, send, clock, onEnd } = this.#deps;
    this.#endTurn();
    // The thread first: what the answer leads to may be the next turn.
    send({ type: "FINISHED", id, key, nowMs: clock.monotonicMs(), isSpent });
    onEnd(key, end);
  }

  /** The thread is free again, and has not said what its turn came to. */
  #onUnanswered(): void {
    const { id, send, log, clock } = this.#deps;
    const current = this.#current;
    if (current === undefined) return;
    const reason = plainError("ISOLATE_THREAD_LOST", "its thread ended the turn, and its answer did not arrive.");
    log("error", named(current.subject, reason.message), { code: reason.code });
    if (current.key !== null)
      return this.#finish(current.key, {
        type: "failed",
        thrown: failedTurn(current.subject, "ENDED", reason),
        timing: null,
      });
    this.#endTurn();
    send({ type: "RETURNED", id, nowMs: clock.monotonicMs(), isSpent: false });
  }

  #endTurn(): void {
    this.#clock.stop();
    this.#last = this.#current?.subject ?? this.#last;
    this.#current = undefined;
  }

  #onExited(reason: PlainError, isShortage: boolean): void {
    const { id, cells, slot, send } = this.#deps;
    this.#clock.stop();
    // It was over its time before it ended in some other way.
    this.#onLookedAt?.(null);
    const hasTurn = this.#current !== undefined && this.#current.key !== null;
    const isUnbegun = hasTurn && !this.#hasBegun();
    const isBetween = this.isReady && !this.#isEnding && (!hasTurn || isUnbegun);
    if (isBetween && cells.read(slot).state !== "connection") logEndBetweenTurns(this.#deps.log, reason, this.#last);
    this.#loseLent(reason);
    cells.vacate(slot);
    send({ type: "EXITED", id, reason, isUnbegun, isShortage });
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
    log("warn", textOfLostTurn(reason, subject), subject ? { code: reason.code } : dataOfEnd(reason, this.#last));
    onTurnLost?.({ slot, turn: known ?? turn, reason });
  }
}
