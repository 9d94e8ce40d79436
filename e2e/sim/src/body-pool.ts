/**
 * The pool of an app process whose threads run bodies of steps: the SDK's own pool on main and the SDK's own turns in its
 * threads. Only the threads are simulated: actors that can be killed at any moment, and that native code can hold.
 */
import { seededRandom } from "../../../packages/core/src/index.ts";
import { currentExecution } from "../../../packages/sdk/src/execution/current.ts";
import type { IsolatedBodies } from "../../../packages/sdk/src/execution/isolated-body.ts";
import { IsolationPool } from "../../../packages/sdk/src/isolation/main/pool.ts";
import type { SpawnPoolThread } from "../../../packages/sdk/src/isolation/main/spawn-pool-thread.ts";
import { cellsBytes, type ThreadCells, threadCells } from "../../../packages/sdk/src/isolation/shared/thread-cells.ts";
import { PoolTurns } from "../../../packages/sdk/src/isolation/thread/pool-turns.ts";
import { isolated } from "../../../packages/sdk/src/steps/isolated.ts";
import type { Place } from "./programs.ts";
import type { Dice } from "./random.ts";
import { Actor } from "./scheduler.ts";
import { SimPort } from "./sim-port.ts";
import { Emitter } from "./web-socket.ts";

export interface BodyPoolPlan {
  readonly threads: number;
  readonly recycleAfter: number | null;
  readonly idleMs: number | null;
  /** How long evaluating the module takes in a thread, at most. */
  readonly loadMs: number;
}

type Body = (place: Place) => Promise<unknown>;

const BUDGET_MS = 4_000;
/** What a thread still does when native code lets it go. */
const LAST_MS = 10;
/** Which body it is the thread finds out by its argument: code does not cross. */
const CALL = isolated(
  "file:///sim/bodies.js",
  "body",
  (_key: string): Promise<unknown> => Promise.reject(new Error("Bodies of the simulation run in a pool thread.")),
  { budget: BUDGET_MS },
);

export class SimBodyPool implements IsolatedBodies {
  /** Of the pool, for the connection thread. */
  readonly memory: SharedArrayBuffer;
  readonly #main: Actor;
  readonly #dice: Dice;
  readonly #plan: BodyPoolPlan;
  readonly #onAsked: () => void;
  readonly #pool: IsolationPool;
  readonly #bodies = new Map<string, Body>();
  #actors: Actor[] = [];
  #born = 0;

  /** `onAsked`: a body is given to the pool. */
  constructor(main: Actor, dice: Dice, plan: BodyPoolPlan, onAsked: () => void) {
    this.#onAsked = onAsked;
    this.#main = main;
    this.#dice = dice;
    this.#plan = plan;
    const { threads, recycleAfter, idleMs } = plan;
    this.memory = new SharedArrayBuffer(cellsBytes(2 * threads));
    this.#pool = new IsolationPool({
      memory: this.memory,
      rules: { threads, recycleAfter, idleMs, warm: 0, maxQueue: 1_000, maxAbandoned: threads },
      resourceLimits: {},
      spawn: this.#spawn,
      clock: main.clock,
      timers: main.timers,
      random: seededRandom(dice.fork()),
      log: () => {},
      isDebugged: () => false,
    });
  }

  get actors(): readonly Actor[] {
    return this.#actors.filter(({ alive }) => alive);
  }

  /** A thread lives that nothing holds. */
  get isRunning(): boolean {
    return this.actors.some(({ frozenUntilMs, scheduler }) => frozenUntilMs < scheduler.nowMs - LAST_MS);
  }

  /** Turns that run or wait. */
  get busy(): number {
    const { busy, queued } = this.#pool.debugState();
    return busy + queued;
  }

  /** The step's body as `step.run` takes it, with the key as its argument. */
  call(key: string, body: Body): typeof CALL {
    this.#bodies.set(`${currentExecution()?.requestId} ${key}`, body);
    return CALL;
  }

  async run({ mark, args, subject, signal, whenConfirmed, onBegun }: Parameters<IsolatedBodies["run"]>[0]) {
    const { module, name, budgetMs, memoryMb } = mark;
    const { requestId, runId, functionSlug, step } = subject;
    const whose = { requestId, runId, functionSlug, step };
    this.#onAsked();
    const code = { kind: "body", module, name } as const;
    return this.#pool.runBody({ code, args, subject: whose, budgetMs, memoryMb, whenConfirmed, onBegun }, signal);
  }

  debugState(): ReturnType<IsolationPool["debugState"]> {
    return this.#pool.debugState();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** A thread dies, or native code holds it for a while: it then does not end when it is ended, either. */
  harm(dice: Dice): void {
    const actor = this.actors.length > 0 ? dice.pick(this.actors) : undefined;
    if (actor === undefined) return;
    const way = dice.pick(["die", "die at an action", "hang"] as const);
    if (way === "die") actor.die();
    else if (way === "die at an action") actor.dieAtAction(dice.between(1, 20));
    else actor.freeze(dice.within(0, dice.pick([100, 1_000, 12_000])));
  }

  /** Native code holds every thread that is there for so long. */
  hang(ms: number): void {
    for (const actor of this.actors) actor.freeze(ms);
  }

  readonly #spawn: SpawnPoolThread = ({ slot, cells: buffer }) => {
    const main = this.#main;
    const { scheduler } = main;
    this.#born += 1;
    const actor = new Actor(scheduler, `${main.name}.b${this.#born}`, this.#dice.fork());
    this.#actors = [...this.actors, actor];
    main.onDeath(() => actor.die());
    const [outside, inside] = SimPort.pair(scheduler, this.#dice);
    outside.belongTo(main);
    inside.belongTo(actor);
    const worker = new SimWorker(main, actor, this.#dice);
    const cells = threadCells(buffer);
    // What a thread that was killed in the middle of its code does no more.
    const release: ThreadCells["release"] = (...turn) => actor.acts() && cells.release(...turn);
    scheduler.after(this.#dice.within(2, 40), actor, () => {
      const turns = new PoolTurns({
        ...{ slot, cells: { ...cells, release }, clock: main.clock },
        finder: this.#finderIn(actor),
        post: (report) => inside.postMessage(report),
        exit: () => actor.die(),
      });
      inside.on("message", (posted: unknown) => turns.receive(posted));
      turns.begin();
    });
    return { worker: worker as never, port: outside as never, drain: () => outside.drain() };
  };

  #finderIn(actor: Actor): ConstructorParameters<typeof PoolTurns>[0]["finder"] {
    const wait = (ms: number): Promise<void> =>
      new Promise((resolve) => void actor.timers.set(ms, resolve, { unref: true }));
    const place: Place = {
      acts: () => actor.acts(),
      work: wait,
      block: (ms) => {
        actor.freeze(ms);
        return wait(1);
      },
    };
    const body = (key: unknown): unknown => {
      const found = this.#bodies.get(`${currentExecution()?.requestId} ${String(key)}`);
      if (found === undefined) throw new Error(`No handler has asked for ${String(key)}.`);
      return found(place);
    };
    let isEvaluated = false;
    return {
      isSpent: false,
      known: () => (isEvaluated ? body : undefined),
      find: async () => {
        await wait(this.#dice.within(0, this.#plan.loadMs));
        isEvaluated = true;
        return body;
      },
    };
  }
}

/** A worker thread as main has it. */
class SimWorker extends Emitter {
  readonly #main: Actor;
  readonly #actor: Actor;
  readonly #dice: Dice;

  constructor(main: Actor, actor: Actor, dice: Dice) {
    super();
    this.#main = main;
    this.#actor = actor;
    this.#dice = dice;
    actor.onDeath(() => main.scheduler.after(1, main, () => this.emit("exit", 1)));
  }

  unref(): void {}

  /** One that native code holds ends when that has returned. */
  terminate(): Promise<number> {
    const { scheduler, frozenUntilMs } = this.#actor;
    const inMs = Math.max(0, frozenUntilMs - scheduler.nowMs) + this.#dice.within(0, 5);
    if (this.#main.acts()) scheduler.after(inMs, null, () => this.#actor.die());
    return Promise.resolve(1);
  }
}
