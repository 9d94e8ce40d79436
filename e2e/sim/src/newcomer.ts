import type { Clients } from "./clients.ts";
import { type FunctionPlan, randomFunction } from "./programs.ts";
import type { Dice } from "./random.ts";

/** A function that comes with a later deployment of the app: gateways that know the earlier one do not know it. */
export interface Newcomer {
  readonly plan: FunctionPlan;
  /** When the first worker of that deployment starts. */
  readonly atMs: number;
}

export function planNewcomer(dice: Dice, before: number, windowMs: number): Newcomer {
  return { plan: randomFunction(dice, before, false), atMs: dice.within(0.2, 0.6) * windowMs };
}

/** Events for it: each is sent from the moment on at which the function is stored. */
export function sendToNewcomer({ plan, atMs }: Newcomer, clients: Clients, dice: Dice): void {
  for (let count = dice.between(1, 3); count > 0; count -= 1) {
    const entropy = Uint8Array.from({ length: 10 }, () => dice.between(0, 255));
    clients.plan(entropy, atMs + dice.within(0, 2_000), { name: `sim/${plan.id}`, data: { from: "somebody" } });
  }
}
