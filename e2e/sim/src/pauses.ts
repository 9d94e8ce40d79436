/** Functions are paused and resumed while everything runs, at any gateway: the adversary `pauses`. */
import { plainName } from "@holdfast/store";
import type { Tables } from "./database/tables.ts";
import { slugOf } from "./flow-oracle.ts";
import type { GatewayNode } from "./gateway.ts";
import type { FunctionPlan } from "./programs.ts";
import type { Dice } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface PausesWorld {
  readonly scheduler: Scheduler;
  readonly tables: Tables;
  readonly functions: readonly FunctionPlan[];
  readonly liveGateways: readonly GatewayNode[];
}

/** A call that is under way when it becomes calm is over by the last of these. */
const RESUMES_MS = [0, 5_000, 30_000];

/** Who does it calls once: a call that is lost is lost, and what was paused then stays so until it is calm. */
export class Pauses {
  readonly #world: PausesWorld;
  readonly #dice: Dice;

  constructor(world: PausesWorld, dice: Dice, windowMs: number) {
    this.#world = world;
    this.#dice = dice;
    for (let count = dice.between(1, 4); count > 0; count -= 1) {
      const plan = dice.pick(world.functions);
      const atMs = dice.within(0, windowMs);
      this.#call(atMs, "pauses", plan);
      this.#call(atMs + dice.within(50, 6_000), "resumes", plan);
    }
  }

  /** Nothing stays paused. */
  calm(): void {
    const { scheduler, tables } = this.#world;
    const { controls } = tables.registry;
    for (const inMs of RESUMES_MS) {
      scheduler.after(inMs, null, () => {
        for (const { functionId } of controls.all().pauses) controls.resumeFunction(functionId);
      });
    }
  }

  #call(atMs: number, what: "pauses" | "resumes", plan: FunctionPlan): void {
    const { scheduler } = this.#world;
    scheduler.at(atMs, null, () => {
      const up = this.#world.liveGateways.filter(({ isUp }) => isUp);
      if (up.length === 0) return;
      const { core, actor, name } = this.#dice.pick(up);
      const functionId = slugOf(plan);
      scheduler.trace.note(scheduler.nowMs, name, what, functionId);
      const { controls } = core.dispatcher;
      const call = (): Promise<unknown> =>
        what === "pauses"
          ? controls.pauseFunction(plan.environment, plainName(functionId), null)
          : controls.resumeFunction(plan.environment, plainName(functionId));
      // The function may not be there yet, the gateway or the database may be gone.
      actor.soon(() => void call().catch(() => {}));
    });
  }
}
