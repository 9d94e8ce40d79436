/**
 * The adversary that waits for a request to be sent, and lets the database's answers to its gateway be late then. The
 * worker's main thread is blocked meanwhile, and then has the lease confirmed by a gateway that acts on an old answer; or
 * the machine that both are on is suspended, or the gateway's, and the monotonic clock with it; or the next request has to
 * wait for room on the socket.
 */
import type { AppNode } from "./app.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Connection } from "./network.ts";
import type { Dice } from "./random.ts";
import type { Actor, Scheduler } from "./scheduler.ts";

export interface LateMomentsWorld {
  readonly scheduler: Scheduler;
  readonly threads: ReadonlyMap<Actor, { readonly app: AppNode }>;
  readonly liveGateways: readonly GatewayNode[];
  readonly isCalm: boolean;
  /** Until then something is held back. */
  wakeMs: number;
}

const MOST_MOMENTS = 3;
/** The threads of a machine that goes on get the processor one after the other. */
const APART_MS = 5;

export class LateMoments {
  readonly #world: LateMomentsWorld;
  readonly #dice: Dice;
  readonly #mayBlock: boolean;
  #left: number;

  /** `mayBlock`: a main thread may stand still for longer than it is told. */
  constructor(world: LateMomentsWorld, dice: Dice, mayBlock: boolean) {
    this.#world = world;
    this.#dice = dice;
    this.#mayBlock = mayBlock;
    this.#left = dice.between(1, MOST_MOMENTS);
  }

  /** A request is sent. */
  requested(connection: Connection): void {
    const { scheduler, threads, liveGateways, isCalm } = this.#world;
    const dice = this.#dice;
    if (isCalm || this.#left === 0 || !dice.chance(0.5)) return;
    const app = threads.get(connection.worker.actor)?.app;
    const gateway = liveGateways.find(({ actor }) => actor === connection.gateway.actor);
    if (app === undefined || gateway === undefined) return;
    this.#left -= 1;
    if (dice.chance(0.2)) return this.#suspendBoth(app, gateway);
    if (dice.chance(0.3)) return this.#suspendGateway(gateway);
    if (dice.chance(0.4)) return this.#leaveNoRoom(connection, gateway);
    const lateMs = dice.within(4_500, 12_000);
    if (this.#mayBlock) app.main.freeze(dice.within(1_000, 6_000));
    // What it is said to have got is on its way already.
    scheduler.after(dice.within(0, dice.pick([1, 50, 1_500])), null, () => this.#holdBack(gateway, lateMs));
  }

  /** What is asked for meanwhile is old by one clock, and young by the one that stalls; workers miss nothing yet. */
  #suspendGateway(gateway: GatewayNode): void {
    const { scheduler } = this.#world;
    const dice = this.#dice;
    const afterMs = dice.within(1_000, 1_900);
    const forMs = dice.within(2_200, 3_200);
    this.#holdBack(gateway, afterMs + forMs);
    scheduler.after(afterMs, null, () => {
      if (this.#world.isCalm) return;
      scheduler.trace.note(scheduler.nowMs, gateway.name, "suspended", String(Math.round(forMs)));
      gateway.actor.suspend(forMs, dice.pick(["timers first", "timers last", "as it came"] as const), true);
    });
  }

  /** The next request waits for room, and the news that its lease was extended is lost. */
  #leaveNoRoom(connection: Connection, gateway: GatewayNode): void {
    const { scheduler } = this.#world;
    const dice = this.#dice;
    const forMs = dice.within(5_000, 12_000);
    scheduler.trace.note(scheduler.nowMs, gateway.name, "no room", String(Math.round(forMs)));
    connection.gateway.isFull = true;
    scheduler.after(forMs, connection.gateway.actor, () => connection.gateway.drained());
    scheduler.after(dice.within(10, 1_000), null, () => this.#holdBack(gateway, dice.within(0.6 * forMs, 1.2 * forMs)));
  }

  #holdBack(gateway: GatewayNode, lateMs: number): void {
    const { scheduler, isCalm } = this.#world;
    if (isCalm) return;
    scheduler.trace.note(scheduler.nowMs, gateway.name, "answers are late", String(Math.round(lateMs)));
    gateway.answersAtMs = Math.max(gateway.answersAtMs, scheduler.nowMs + lateMs);
    this.#world.wakeMs = Math.max(this.#world.wakeMs, gateway.answersAtMs);
  }

  /** While answers are on their way that are not late by the clock which stalls. */
  #suspendBoth(app: AppNode, gateway: GatewayNode): void {
    const { scheduler } = this.#world;
    const dice = this.#dice;
    const lateMs = dice.within(50, 2_000);
    this.#holdBack(gateway, lateMs);
    scheduler.after(dice.within(0, lateMs), null, () => {
      if (this.#world.isCalm) return;
      // As they are by now: a thread may have died meanwhile, and another one started.
      const { main, thread, poolActors } = app;
      const forMs = dice.within(3_000, 12_000);
      const order = dice.pick(["timers first", "timers last", "as it came"] as const);
      scheduler.trace.note(scheduler.nowMs, gateway.name, "suspended", `with ${main.name} ${Math.round(forMs)}`);
      this.#world.wakeMs = Math.max(this.#world.wakeMs, scheduler.nowMs + forMs);
      for (const actor of [gateway.actor, main, thread?.actor, ...poolActors])
        actor?.suspend(forMs + dice.within(0, APART_MS), order, true);
    });
  }
}
