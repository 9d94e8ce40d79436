/**
 * The time of a turn. From when it starts until it stops a limit runs, whatever the thread does: it has not begun yet,
 * evaluates a module, runs the code, or has ended its turn and main has not heard how.
 */
import type { TimerHandle } from "@holdfast/core";
import type { ThreadCells } from "../shared/thread-cells.ts";
import type { PoolDeps } from "./pool-types.ts";
import { BEGIN_MS, LOAD_MS, type Overrun, READ_MS } from "./turn-failures.ts";

export interface TurnClockDeps extends Pick<PoolDeps, "clock" | "timers" | "isDebugged"> {
  readonly cells: ThreadCells;
  readonly slot: number;
  readonly onOverrun: (overrun: Overrun) => void;
  /** The turn is over in the thread, and nothing has come of that. */
  readonly onUnanswered: () => void;
}

const MIN_CHECK_MS = 5;

export class TurnClock {
  readonly #deps: TurnClockDeps;
  #turn: { readonly turn: number; readonly budgetMs: number } | undefined;
  #alarm: TimerHandle | undefined;
  /** How often the turn was found to be over. */
  #overLooks = 0;
  /** Since when the thread knows that it may begin; undefined = it was not asked for, or main is asked. */
  #confirmedMs: number | undefined;
  /** What the thread took before, to read that it may begin: a thread that always reads it late is not waited for on and on. */
  #usedMs = 0;

  constructor(deps: TurnClockDeps) {
    this.#deps = deps;
  }

  start(turn: number, budgetMs: number): void {
    this.#turn = { turn, budgetMs };
    this.#overLooks = 0;
    this.#confirmedMs = undefined;
    this.#usedMs = 0;
    this.#lookIn(Math.min(budgetMs, BEGIN_MS));
  }

  stop(): void {
    this.#turn = undefined;
    this.#alarm?.cancel();
  }

  /** The thread asks whether it may begin: the time until it is answered is main's. */
  onAsked(): void {
    if (this.#confirmedMs === undefined) return;
    const { cells, slot, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    const { phase, forMs } = cells.readPhase(slot, nowMs);
    this.#usedMs += Math.max(0, nowMs - (phase === "asking" ? forMs : 0) - this.#confirmedMs);
    this.#confirmedMs = undefined;
  }

  onConfirmed(): void {
    if (this.#turn === undefined) return;
    const { cells, slot, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    this.#confirmedMs = nowMs;
    cells.setPhase(slot, "waiting", nowMs - this.#usedMs);
    this.#lookIn(Math.min(this.#turn.budgetMs, BEGIN_MS - this.#usedMs));
  }

  #lookIn(delayMs: number): void {
    this.#alarm?.cancel();
    this.#alarm = this.#deps.timers.set(Math.max(MIN_CHECK_MS, delayMs), () => this.#look());
  }

  /** Looks at the thread's own record, since time counts from when its code began. */
  #look(): void {
    if (this.#turn === undefined) return;
    const { cells, slot, clock, isDebugged, onOverrun } = this.#deps;
    const { turn, budgetMs } = this.#turn;
    if (!cells.hasTurn(slot, turn)) return this.#lookAtEnd();
    const { phase, forMs } = cells.readPhase(slot, clock.monotonicMs());
    const limits = { running: budgetMs, loading: LOAD_MS, waiting: BEGIN_MS, asking: Number.POSITIVE_INFINITY };
    const limitMs = limits[phase];
    // Code may begin at any moment, and its time may be shorter than what is left to begin.
    if (forMs < limitMs) return this.#lookIn(Math.min(budgetMs, limitMs - forMs, BEGIN_MS));
    if (isDebugged()) return this.#lookIn(LOAD_MS);
    onOverrun({ phase, forMs, budgetMs });
  }

  /** Main may read late what the thread has posted, so it looks once more. */
  #lookAtEnd(): void {
    this.#overLooks += 1;
    if (this.#overLooks === 1) return this.#lookIn(BEGIN_MS);
    if (this.#overLooks === 2) return this.#lookIn(READ_MS);
    this.#deps.onUnanswered();
  }
}
