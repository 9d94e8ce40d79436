/**
 * The adversary that waits for a body to be given to the pool of threads, and takes its work away right then: its worker
 * is cut off, stopped or blocked while its threads hang, or its run is cancelled.
 */
import type { AppNode } from "./app.ts";
import { applyFault, type FaultyWorld } from "./apply-fault.ts";
import type { Dice } from "./random.ts";

/** What happens to the worker. */
const KINDS = [
  ...["swallows all", "swallows all", "tells the gateway only", "tells the gateway only", "holds back both ways"],
  ...["suspend", "block main", "kill thread", "cancel run", "drain gateway", "close app"],
] as const;

const MOST_MOMENTS = 6;
const LENGTHS_MS = [
  [100, 1_500],
  [1_500, 6_000],
  [6_000, 15_000],
] as const;

export interface BodyMomentsWorld extends FaultyWorld {
  readonly isCalm: boolean;
}

export class BodyMoments {
  readonly #world: BodyMomentsWorld;
  readonly #dice: Dice;
  #left: number;

  constructor(world: BodyMomentsWorld, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
    this.#left = dice.between(1, MOST_MOMENTS);
  }

  /** In the turn in which the body is asked for. */
  onAsked(app: AppNode): void {
    const dice = this.#dice;
    const { isCalm, scheduler } = this.#world;
    // Mostly where a thread has been started that can be held.
    const isThere = (app.bodies?.actors.length ?? 0) > 0;
    if (isCalm || this.#left === 0 || !dice.chance(isThere ? 0.8 : 0.1)) return;
    this.#left -= 1;
    const kind = dice.pick(KINDS);
    const soonMs = dice.within(0, dice.pick([1, 50, 500]));
    // Native code holds the thread that is to run it, mostly before it has read of it.
    const hangsInMs = dice.pick([0, 0, 0, 1, 50, 1_000]);
    const hangMs = dice.within(0, dice.pick([1_500, 15_000, 15_000, 15_000]));
    if (hangsInMs === 0) app.bodies?.hang(hangMs);
    else scheduler.after(dice.within(0, hangsInMs), null, () => app.bodies?.hang(hangMs));
    scheduler.after(soonMs, null, () => this.#act(kind, app));
  }

  #act(kind: (typeof KINDS)[number], app: AppNode): void {
    const { isCalm, scheduler, network } = this.#world;
    const dice = this.#dice;
    if (isCalm || !app.main.alive) return;
    const forMs = this.#length();
    scheduler.trace.note(scheduler.nowMs, app.name, "moment", `${kind} ${Math.round(forMs)}`);
    const own = network.connections.filter(({ worker }) => worker.actor === app.thread?.actor);
    switch (kind) {
      case "swallows all":
        for (const one of own) one.silent = true;
        return;
      case "tells the gateway only":
        for (const one of own) one.cut({ worker: false, gateway: true });
        return;
      case "holds back both ways":
        for (const one of own) {
          one.stall("up", forMs);
          one.stall("down", forMs);
        }
        return;
      case "suspend":
        return app.freeze(forMs);
      case "block main":
        return app.main.freeze(Math.min(forMs, 6_000));
      case "close app":
        return app.close();
      case "kill thread":
        return app.thread?.actor.die();
      default:
        return applyFault(this.#world, kind, dice);
    }
  }

  #length(): number {
    const [leastMs, mostMs] = this.#dice.pick(LENGTHS_MS);
    return this.#dice.within(leastMs, mostMs);
  }
}
