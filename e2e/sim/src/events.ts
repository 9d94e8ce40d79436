/** Plans which events a schedule has, and when: for each function as its options need them. */
import type { Clients, Planned } from "./clients.ts";
import { STOP } from "./planned-options.ts";
import type { FunctionPlan } from "./programs.ts";
import type { Dice } from "./random.ts";

/** The second environment, where there is one. */
export const TWIN = "preview";

/** The events of a schedule. */
export class Events {
  readonly #clients: Clients;
  readonly #functions: readonly FunctionPlan[];
  readonly #latestMs: number;
  /** Null: there is no second environment. */
  readonly #twins: Dice | null;

  constructor(clients: Clients, functions: readonly FunctionPlan[], windowMs: number, twins: Dice | null) {
    this.#clients = clients;
    this.#functions = functions;
    this.#latestMs = Math.max(400, windowMs * 0.8);
    this.#twins = twins;
  }

  /** Some of any function. */
  plan(dice: Dice, count: number): void {
    for (let i = 0; i < count; i += 1) {
      const entropy = entropyOf(dice);
      const name = `sim/${dice.pick(this.#functions).id}`;
      this.#plan(entropy, dice.within(300, this.#latestMs), { name, data: { from: "a client" } });
    }
  }

  /** Several for each function that has something between events and runs, some of them to start runs later. */
  planOptions(dice: Dice): void {
    const anyMs = (): number => dice.within(300, this.#latestMs);
    for (const { id, options } of this.#functions) {
      const periodMs = "periodMs" in options.flowControl ? options.flowControl.periodMs : 1000;
      let lastMs = anyMs();
      // Often just when something is over that an event before it began.
      const atMs = (): number => {
        lastMs = dice.chance(0.4) ? lastMs + Math.max(0, periodMs + dice.within(-50, 50)) : anyMs();
        return lastMs;
      };
      const count = options.flowControl.type === "none" ? dice.between(0, 1) : dice.between(2, 4);
      for (let i = 0; i < count; i += 1) {
        const ahead = dice.chance(0.15) ? { aheadMs: dice.within(0, 3000) } : {};
        const data = { from: "a client", key: dice.pick(["x", "x", "y"]) };
        this.#plan(entropyOf(dice), atMs(), { name: `sim/${id}`, data, ...ahead });
      }
      if (options.cancelOn && dice.chance(0.6)) {
        this.#plan(entropyOf(dice), atMs(), { name: STOP, data: { key: "x" } });
      }
    }
  }

  /** In both environments, under the same ids. */
  #plan(entropy: Uint8Array, atMs: number, what: Planned): void {
    const dice = this.#twins;
    if (dice === null) return void this.#clients.plan(entropy, atMs, what);
    const tag = String(this.#clients.sendings.length);
    const own = { ...what, data: { ...what.data, tag }, ...(dice.chance(0.5) ? { id: `order-${tag}` } : {}) };
    const seedMs = this.#clients.plan(entropy, atMs, own);
    const twinMs = dice.chance(0.5) ? atMs : atMs + dice.within(0, 500);
    this.#clients.plan(entropy, twinMs, { ...own, environment: TWIN }, seedMs);
  }
}

const entropyOf = (dice: Dice): Uint8Array => Uint8Array.from({ length: 10 }, () => dice.between(0, 255));
