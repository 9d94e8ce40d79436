/**
 * Virtual time and the order of everything that happens. Clocks, timers and immediates of the code under test come
 * from its actors.
 */
import {
  type Clock,
  type Random,
  replaceTurns,
  seededRandom,
  type TimerHandle,
  type Timers,
} from "../../../packages/core/src/index.ts";
import { Heap } from "./heap.ts";
import type { TraceHash } from "./trace.ts";

/** Something that happens at a moment of virtual time. */
interface Happening {
  atMs: number;
  readonly order: number;
  /** Whose code runs; null = the world's own (network, database, faults). */
  readonly owner: Actor | null;
  readonly fire: () => void;
  cancelled: boolean;
  /** A timer's: how long its owner's machine had been suspended when it was set. */
  asleepMs: number | null;
}

/** What ended an actor's code from inside. */
export interface Crash {
  readonly actor: Actor;
  readonly error: unknown;
}

const EPOCH_MS = 1_700_000_000_000;
/** Once in so many timers fires late, as on a busy machine. */
const LATE_TIMER_RATE = 0.03;

/**
 * Virtual time, and the one place where anything happens. Microtasks and ticks stay Node's own: one happening is one turn
 * of the real event loop, so all that follows from it is over before the next one, and time stalls meanwhile.
 */
export class Scheduler {
  nowMs = 0;
  /** Whose code runs at the moment, microtasks included. */
  current: Actor | null = null;
  happenings = 0;
  readonly trace: TraceHash;
  readonly #heap = new Heap<Happening>(isBefore);
  #order = 0;
  onCrash: (crash: Crash) => void = () => {};

  constructor(trace: TraceHash) {
    this.trace = trace;
  }

  /** Arranges that `fire` happens; an actor that is dead by then does nothing, one that is frozen does it later. */
  at(atMs: number, owner: Actor | null, fire: () => void, asleepMs: number | null = null): Happening {
    this.#order += 1;
    const happening = { atMs: Math.max(atMs, this.nowMs), order: this.#order, owner, fire, cancelled: false, asleepMs };
    this.#heap.push(happening);
    return happening;
  }

  after(delayMs: number, owner: Actor | null, fire: () => void): Happening {
    return this.at(this.nowMs + delayMs, owner, fire);
  }

  /** Lets things happen until `isOver`, nothing is left, or it is `limitMs`. True when it is over. */
  run(isOver: () => boolean, limitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const turn = (): void => {
        for (;;) {
          this.current = null;
          if (isOver()) return resolve(true);
          const next = this.#next();
          if (next === undefined || next.atMs > limitMs) {
            if (next) this.#heap.push(next);
            this.nowMs = Math.max(this.nowMs, next ? limitMs : this.nowMs);
            return resolve(false);
          }
          this.#carryOut(next);
          // What the world does by itself leaves no microtasks behind.
          if (next.owner) break;
        }
        realSetImmediate(turn);
      };
      realSetImmediate(turn);
    });
  }

  /** The next happening that does anything. */
  #next(): Happening | undefined {
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop()) {
      if (next.cancelled || next.owner?.alive === false) continue;
      if (next.owner && isPutOff(next, next.owner)) {
        this.#heap.push(next);
        continue;
      }
      if (next.owner && next.owner.frozenUntilMs > next.atMs) {
        next.owner.backlog.push(next);
        continue;
      }
      return next;
    }
    return undefined;
  }

  #carryOut(next: Happening): void {
    this.nowMs = next.atMs;
    this.current = next.owner;
    this.happenings += 1;
    try {
      next.fire();
    } catch (error) {
      if (!next.owner) throw error;
      this.onCrash({ actor: next.owner, error });
    }
    next.owner?.turned();
  }
}

/** A timer runs on the monotonic clock, which stalls while the machine is suspended: it is due that much later. */
function isPutOff(timer: Happening, { asleepMs }: Actor): boolean {
  if (timer.asleepMs === null || timer.asleepMs === asleepMs) return false;
  timer.atMs += asleepMs - timer.asleepMs;
  timer.asleepMs = asleepMs;
  return true;
}

/** What an event loop that was stopped turns to first: timers that are overdue, or what the kernel kept for it. */
export type WakeOrder = "timers first" | "timers last" | "as it came";

/** A thread of a process: what has its own event loop. Its clock, timers and immediates are the world's. */
export class Actor {
  readonly name: string;
  readonly scheduler: Scheduler;
  readonly random: Random;
  alive = true;
  frozenUntilMs = 0;
  /** What came while it was frozen. */
  backlog: Happening[] = [];
  /** How far its wall clock is off. */
  wallOffsetMs = 0;
  /** How long it was frozen in all. */
  frozenMs = 0;
  /** How long its machine was suspended in all: its monotonic clock stalled. */
  asleepMs = 0;
  /** Timers that would keep a process alive. */
  readonly pending = new Set<Happening>();
  readonly clock: Clock;
  readonly timers: Timers;
  #dieAfter = Number.POSITIVE_INFINITY;
  #onDeath: (() => void)[] = [];
  #wakeOrder: WakeOrder = "as it came";
  #asleepUntilMs = 0;
  #turnsLeft = 0;
  #afterTurns: () => void = () => {};

  constructor(scheduler: Scheduler, name: string, seed: number) {
    this.scheduler = scheduler;
    this.name = name;
    this.random = seededRandom(seed);
    const bornMs = scheduler.nowMs;
    this.clock = {
      nowMs: () => Math.floor(EPOCH_MS + scheduler.nowMs + this.wallOffsetMs),
      monotonicMs: () => scheduler.nowMs - bornMs - this.asleepMs,
    };
    this.timers = { set: (delayMs, fire, options) => this.#setTimer(delayMs, fire, options?.unref === true) };
  }

  /** Runs in its next turn. */
  soon(fire: () => void): void {
    this.scheduler.after(0, this, fire);
  }

  /**
   * Asked before everything that others can see of it: false when it is dead, so that it can be killed between any two
   * of them, in the middle of its code.
   */
  acts(): boolean {
    if (!this.alive) return false;
    this.#dieAfter -= 1;
    if (this.#dieAfter > 0) return true;
    this.die();
    return false;
  }

  /** It dies when it wants to act for the n-th time from now. */
  dieAtAction(count: number): void {
    this.#dieAfter = Math.min(this.#dieAfter, count);
  }

  /** It does not die after all. */
  spare(): void {
    this.#dieAfter = Number.POSITIVE_INFINITY;
  }

  onDeath(act: () => void): void {
    this.#onDeath.push(act);
  }

  die(): void {
    if (!this.alive) return;
    this.alive = false;
    this.backlog = [];
    this.pending.clear();
    this.scheduler.trace.note(this.scheduler.nowMs, this.name, "dies");
    for (const act of this.#onDeath) act();
    this.#onDeath = [];
  }

  /** Nothing of it runs for a while; what comes meanwhile waits. */
  freeze(forMs: number): void {
    const { scheduler } = this;
    const untilMs = scheduler.nowMs + forMs;
    if (!this.alive || untilMs <= this.frozenUntilMs) return;
    this.frozenMs += untilMs - Math.max(this.frozenUntilMs, scheduler.nowMs);
    this.frozenUntilMs = untilMs;
    scheduler.trace.note(scheduler.nowMs, this.name, "freezes");
    scheduler.at(untilMs, null, () => this.#thaw());
  }

  /** As `freeze`, from outside: SIGSTOP, or the whole machine, whose monotonic clock then stalls as well. */
  suspend(forMs: number, order: WakeOrder, isMachine: boolean): void {
    const { nowMs } = this.scheduler;
    const untilMs = nowMs + forMs;
    if (!this.alive) return;
    // Of a machine also what stands still for longer for another reason: its clocks do as well.
    if (isMachine && untilMs > this.#asleepUntilMs) {
      this.asleepMs += untilMs - Math.max(nowMs, this.#asleepUntilMs);
      this.#asleepUntilMs = untilMs;
    }
    if (untilMs <= this.frozenUntilMs) return;
    this.#wakeOrder = order;
    this.freeze(forMs);
  }

  /** Its machine is suspended. */
  get isAsleep(): boolean {
    return this.#asleepUntilMs > this.scheduler.nowMs;
  }

  /** Does this at the end of its turn number `count` from now, before anything else of it runs. */
  afterTurns(count: number, act: () => void): void {
    this.#turnsLeft = count;
    this.#afterTurns = act;
  }

  /** One of its turns is over. */
  turned(): void {
    if (this.#turnsLeft === 0) return;
    this.#turnsLeft -= 1;
    if (this.#turnsLeft === 0) this.#afterTurns();
  }

  #thaw(): void {
    if (this.frozenUntilMs > this.scheduler.nowMs) return;
    const { backlog } = this;
    this.backlog = [];
    for (const one of inOrder(backlog, this.#wakeOrder)) {
      // One that is cancelled meanwhile must not happen.
      if (!one.cancelled) this.scheduler.after(0, one.owner, () => (one.cancelled ? undefined : one.fire()));
    }
    this.#wakeOrder = "as it came";
  }

  #setTimer(delayMs: number, fire: () => void, unref: boolean): TimerHandle {
    // Node's own smallest delay, and its usual lateness.
    const lateMs = this.random() < LATE_TIMER_RATE ? 20 * this.random() : 0.5 * this.random();
    const dueMs = Math.max(1, delayMs) + lateMs;
    const happening = this.scheduler.at(
      this.scheduler.nowMs + dueMs,
      this,
      () => {
        this.pending.delete(happening);
        fire();
      },
      this.asleepMs,
    );
    if (!unref && this.alive) this.pending.add(happening);
    return {
      cancel: () => {
        happening.cancelled = true;
        this.pending.delete(happening);
      },
    };
  }
}

const realSetImmediate = globalThis.setImmediate;

/**
 * Gives `setImmediate`, and what Holdfast took of it when it was loaded, to the scheduler where code runs for an actor:
 * its turns of the event loop are part of the schedule. Returns how to undo it.
 */
export function virtualiseImmediates(scheduler: Scheduler): () => void {
  const virtual = (fire: (...args: unknown[]) => void, ...args: unknown[]): unknown => {
    const { current } = scheduler;
    if (!current) return realSetImmediate(fire, ...args);
    current.soon(() => fire(...args));
    return {};
  };
  Reflect.set(globalThis, "setImmediate", virtual);
  const undo = replaceTurns(virtual);
  return () => {
    undo();
    globalThis.setImmediate = realSetImmediate;
  };
}

function inOrder(backlog: readonly Happening[], order: WakeOrder): readonly Happening[] {
  if (order === "as it came") return backlog;
  const timers = backlog.filter(({ asleepMs }) => asleepMs !== null);
  const others = backlog.filter(({ asleepMs }) => asleepMs === null);
  return order === "timers first" ? [...timers, ...others] : [...others, ...timers];
}

const isBefore = (a: Happening, b: Happening): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
