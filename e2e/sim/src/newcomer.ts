import type { Clients } from "./clients.ts";
import { type FunctionPlan, type Program, randomFunction } from "./programs.ts";
import type { Dice } from "./random.ts";

/** A function that comes with a later deployment of the app: gateways that know the earlier one do not know it. */
export interface Newcomer {
  readonly plan: FunctionPlan;
  /** When the first worker of that deployment starts. */
  readonly atMs: number;
}

/** Of one that hears of failures: it causes none, of which it would hear again. */
const SHORT: Program = { type: "run", failures: 0, workMs: 5, blockMs: 0, compensates: false };

export function planNewcomer(dice: Dice, before: number, windowMs: number): Newcomer {
  const plan = randomFunction(dice, before, false);
  const hearsOfFailures = dice.chance(0.5);
  return {
    plan: hearsOfFailures ? { ...plan, root: SHORT, fails: false, hearsOfFailures } : plan,
    atMs: dice.within(0.2, 0.6) * windowMs,
  };
}

/** Events for it: each is sent from the moment on at which the function is stored. */
export function sendToNewcomer({ plan, atMs }: Newcomer, clients: Clients, dice: Dice): void {
  for (let count = dice.between(1, 3); count > 0; count -= 1) {
    const entropy = Uint8Array.from({ length: 10 }, () => dice.between(0, 255));
    // Some senders say nothing but their own id when they send it again.
    const how = dice.chance(0.5) ? { id: `order-${count}`, isSeeded: false } : {};
    clients.plan(entropy, atMs + dice.within(0, 2_000), { name: `sim/${plan.id}`, data: { from: "somebody" }, ...how });
  }
}
