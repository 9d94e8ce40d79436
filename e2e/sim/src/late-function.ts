/**
 * A function that is deployed while a schedule runs, for the adversary `staleCaches`: gateways that have cached the
 * registry do not know it yet.
 */
import { DEFAULT_QUEUE } from "../../../packages/protocol/src/index.ts";
import type { Clients } from "./clients.ts";
import { NO_OPTIONS } from "./planned-options.ts";
import { type FunctionPlan, type Program, randomFunction } from "./programs.ts";
import type { Dice } from "./random.ts";

/** A function that comes with a later deployment of the app: gateways that know the earlier one do not know it. */
export interface LateFunction {
  readonly plan: FunctionPlan;
  /** When the first worker of that deployment starts. */
  readonly atMs: number;
  /** A function of the earlier deployment: its runs fail at about the time at which one that hears of failures comes. */
  readonly failing: FunctionPlan | null;
}

/** Of one that hears of failures: it causes none, of which it would hear again. */
const SHORT: Program = { type: "run", failures: 0, workMs: 5, blockMs: 0, compensates: false };

/** `own`: what came later is drawn from a stream of its own. */
export function planLateFunction(dice: Dice, own: Dice, before: number, windowMs: number): LateFunction {
  const plan = randomFunction(dice, before, false);
  const hearsOfFailures = dice.chance(0.5);
  const atMs = dice.within(0.2, 0.6) * windowMs;
  if (!hearsOfFailures) return { plan, atMs, failing: null };
  const failing = own.chance(0.5) ? planFailing(own, before) : null;
  const id = failing ? `f${before + 1}` : plan.id;
  return { plan: { ...plan, id, root: SHORT, fails: false, hearsOfFailures }, atMs, failing };
}

function planFailing(dice: Dice, before: number): FunctionPlan {
  const root: Program = { type: "run", failures: 0, workMs: dice.within(50, 1_500), blockMs: 0, compensates: false };
  return {
    id: `f${before}`,
    environment: "",
    retries: 0,
    root,
    fails: true,
    thinksMs: 0,
    stumblesMs: null,
    options: NO_OPTIONS,
    hearsOfFailures: false,
    stays: false,
    queue: DEFAULT_QUEUE,
    continues: 0,
  };
}

/** So many runs fail, each at any moment about that at which the lateFunction is registered. */
export function sendToFailing({ failing, atMs }: LateFunction, clients: Clients, dice: Dice): void {
  if (!failing) return;
  for (let count = dice.between(1, 4); count > 0; count -= 1) {
    const entropy = Uint8Array.from({ length: 10 }, () => dice.between(0, 255));
    clients.plan(entropy, Math.max(100, atMs + dice.within(-1_200, 600)), {
      name: `sim/${failing.id}`,
      data: { from: "a client" },
    });
  }
}

/** Events for it: each is sent from the moment on at which the function is stored. */
export function sendToLateFunction({ plan, atMs }: LateFunction, clients: Clients, dice: Dice): void {
  for (let count = dice.between(1, 3); count > 0; count -= 1) {
    const entropy = Uint8Array.from({ length: 10 }, () => dice.between(0, 255));
    // Some senders say nothing but their own id when they send it again.
    const how = dice.chance(0.5) ? { id: `order-${count}`, isSeeded: false } : {};
    clients.plan(entropy, atMs + dice.within(0, 2_000), { name: `sim/${plan.id}`, data: { from: "a client" }, ...how });
  }
}
