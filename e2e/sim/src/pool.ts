/**
 * The pool of an app process under simulation: its threads are actors that run isolated handlers with the SDK's own code,
 * and that can be killed, or ended by main, at any moment. What starts them is simpler than the real pool.
 */
import { type PlainError, plainError } from "../../../packages/core/src/index.ts";
import type { ConnectionPool, PoolListener } from "../../../packages/sdk/src/connection/main/connection-pool.ts";
import { HandlerThread } from "../../../packages/sdk/src/connection/pool-thread/handler-thread.ts";
import type { PoolThreadPort } from "../../../packages/sdk/src/connection/shared/messages.ts";
import type { ExecutionStrategy, PassRequest } from "../../../packages/sdk/src/execution/execution.ts";
import type { BodyWatch } from "../../../packages/sdk/src/execution/pass-options.ts";
import { cellsBytes, type ThreadCells, threadCells } from "../../../packages/sdk/src/isolation/shared/thread-cells.ts";
import type { Dice } from "./random.ts";
import { Actor } from "./scheduler.ts";
import { SimPort } from "./sim-port.ts";

export interface SimPoolDeps {
  readonly main: Actor;
  readonly dice: Dice;
  readonly threads: number;
  /** Made for each thread anew: its handlers run on its event loop. */
  readonly strategyOf: (actor: Actor, watch: (request: PassRequest) => BodyWatch) => ExecutionStrategy;
}

interface SimPoolThread {
  readonly actor: Actor;
  readonly slot: number;
  handlers: HandlerThread | null;
  /** The last turn that its code was said to begin with. */
  begunTurn: number;
}

const LOST = plainError("ISOLATE_THREAD_LOST", "The thread was killed.");
const OVERRUN = plainError("ISOLATE_BUDGET", "It took too long.");
const NOT_BEGUN = plainError("ISOLATE_THREAD_LOST", "The thread did not begin with it.");
/** As in `isolation/main/turn-failures.ts`, and what has been posted is read after that. */
const BEGIN_MS = 5_100;

export class SimPool implements ConnectionPool {
  readonly cells: SharedArrayBuffer;
  readonly #cells: ThreadCells;
  readonly #deps: SimPoolDeps;
  #threads: SimPoolThread[] = [];
  #listener: PoolListener | undefined;
  #born = 0;

  constructor(deps: SimPoolDeps) {
    this.#deps = deps;
    this.cells = new SharedArrayBuffer(cellsBytes(deps.threads));
    this.#cells = threadCells(this.cells);
    for (let slot = 0; slot < deps.threads; slot += 1) this.#start(slot);
  }

  get actors(): readonly Actor[] {
    return this.#threads.map(({ actor }) => actor).filter(({ alive }) => alive);
  }

  /** Turns that run. */
  get busy(): number {
    return this.#threads.filter(({ slot }) => this.#cells.read(slot).state === "connection").length;
  }

  connect(listener: PoolListener): readonly PoolThreadPort[] {
    this.#listener = listener;
    return this.#threads.flatMap((thread) => (thread.handlers ? [this.#portTo(thread)] : []));
  }

  want(): void {}

  /** A thread that native code holds does not begin: main ends it, and it ends when that has returned. */
  expect(slot: number, turn: number): void {
    const { main, dice } = this.#deps;
    main.timers.set(
      BEGIN_MS,
      () => {
        const thread = this.#threads.find((one) => one.slot === slot && one.actor.alive);
        const status = this.#cells.read(slot);
        if (thread === undefined || thread.begunTurn === turn) return;
        if (status.state !== "connection" || status.turn !== turn || !this.#cells.doom(slot, turn)) return;
        this.#listener?.onLost(slot, NOT_BEGUN);
        const { actor } = thread;
        const inMs = Math.max(0, actor.frozenUntilMs - actor.scheduler.nowMs) + dice.within(0, 5);
        actor.scheduler.after(inMs, null, () => actor.die());
      },
      { unref: true },
    );
  }

  /** Native code holds a thread. */
  hang(dice: Dice): void {
    const { actors } = this;
    if (actors.length > 0) dice.pick(actors).freeze(dice.within(0, dice.pick([100, 8_000, 20_000])));
  }

  /** A thread dies; with `isOverrun` main ends it, if it has a turn. */
  end(dice: Dice, isOverrun: boolean): void {
    const living = this.#threads.filter(({ actor }) => actor.alive);
    const thread = living.length > 0 ? dice.pick(living) : undefined;
    if (thread === undefined) return;
    if (!isOverrun) return dice.chance(0.5) ? thread.actor.die() : thread.actor.dieAtAction(dice.between(1, 20));
    this.#deps.main.soon(() => {
      const { state, turn } = this.#cells.read(thread.slot);
      if (state !== "connection" || !this.#cells.doom(thread.slot, turn)) return;
      this.#listener?.onLost(thread.slot, OVERRUN);
      thread.actor.scheduler.after(dice.within(0, 5), null, () => thread.actor.die());
    });
  }

  #start(slot: number): void {
    const { main, dice, strategyOf } = this.#deps;
    this.#born += 1;
    const actor = new Actor(main.scheduler, `${main.name}.p${this.#born}`, dice.fork());
    const thread: SimPoolThread = { actor, slot, handlers: null, begunTurn: 0 };
    this.#threads = [...this.#threads.filter((one) => one.slot !== slot), thread];
    this.#cells.prepare(slot, 0);
    main.onDeath(() => actor.die());
    actor.onDeath(() => main.scheduler.after(1, main, () => this.#onExit(thread)));
    main.scheduler.after(dice.within(2, 40), actor, () => {
      // What a thread that was killed in the middle of its code does no more.
      const release: ThreadCells["release"] = (...turn) => actor.acts() && this.#cells.release(...turn);
      const cells = { ...this.#cells, release };
      const handlers = new HandlerThread({
        ...{ slot, cells, clock: main.clock, timers: actor.timers, log: () => {}, sdkVersion: "sim" },
        strategy: (watch) => strategyOf(actor, watch),
        main: {
          onLent: (turn) => {
            thread.begunTurn = turn;
          },
          onReturned: () => {},
        },
        isSpent: () => false,
      });
      this.#cells.ready(slot);
      main.scheduler.after(dice.within(0, 1), main, () => {
        if (!actor.alive) return;
        thread.handlers = handlers;
        this.#listener?.onStarted(this.#portTo(thread));
      });
    });
  }

  #onExit(thread: SimPoolThread, reason: PlainError = LOST): void {
    const { main, dice } = this.#deps;
    this.#cells.condemn(thread.slot);
    this.#listener?.onLost(thread.slot, reason);
    this.#cells.vacate(thread.slot);
    main.scheduler.after(dice.within(0, 100), main, () => this.#start(thread.slot));
  }

  #portTo({ actor, slot, handlers }: SimPoolThread): PoolThreadPort {
    const { main, dice } = this.#deps;
    const [inside, outside] = SimPort.pair(main.scheduler, dice);
    main.scheduler.after(dice.within(0, 0.4), actor, () => {
      inside.belongTo(actor);
      handlers?.connect(inside as never);
    });
    return { slot, port: outside as never };
  }
}
