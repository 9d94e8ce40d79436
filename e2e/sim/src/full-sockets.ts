/**
 * The adversary `fullSockets`: a worker does not read for a while, and its gateway's socket has no room. Requests wait
 * there while their leases are kept, then leave, or are another worker's by then.
 */
import type { Connection, Network } from "./network.ts";
import type { Dice } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface FullSocketsWorld {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly isCalm: boolean;
}

/** From much shorter than a lease to longer than several. */
const LENGTHS_MS = [
  [5, 500],
  [500, 4_500],
  [4_500, 15_000],
] as const;

/** Sockets of the schedule that are full, some before anything was sent over them. */
export function fillSockets(world: FullSocketsWorld, dice: Dice, windowMs: number): void {
  const { scheduler, network } = world;
  const fill = (connection: Connection): void => {
    const [leastMs, mostMs] = dice.pick(LENGTHS_MS);
    const forMs = dice.within(leastMs, mostMs);
    scheduler.trace.note(scheduler.nowMs, connection.gateway.actor.name, "no room", String(Math.round(forMs)));
    connection.gateway.isFull = true;
    scheduler.after(forMs, connection.gateway.actor, () => connection.gateway.drained());
  };
  for (let count = dice.between(1, 5); count > 0; count -= 1) {
    scheduler.at(dice.within(0, windowMs), null, () => {
      const { connections } = network;
      if (!world.isCalm && connections.length > 0) fill(dice.pick(connections));
    });
  }
}
