import type { Wake } from "@holdfast/store";

import type { Dice } from "../random.ts";
import type { Actor } from "../scheduler.ts";
import type { StoreConditions } from "./store-conditions.ts";

/** Who listens at the database. */
export class WakeChannel {
  /** How long notifications take; null = they get lost, and no one wakeChannel; undefined = as the conditions says. */
  slowness: () => number | null | undefined = () => undefined;
  readonly #listeners = new Set<{ readonly actor: Actor; readonly hear: (wake: Wake) => void }>();

  listen(actor: Actor, hear: (wake: Wake) => void): () => void {
    const listener = { actor, hear };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(from: Actor, wake: Wake, dice: Dice, conditions: StoreConditions): void {
    for (const { actor, hear } of this.#listeners) {
      if (actor === from) continue;
      const slowMs = this.slowness();
      if (slowMs === null) continue;
      if (slowMs !== undefined) {
        actor.scheduler.after(slowMs, actor, () => hear(wake));
        continue;
      }
      // A lost one means a lost connection: when there is another it says that something may have been missed.
      const isLost = dice.chance(conditions.wakeLossRate);
      const delayMs = isLost ? dice.within(0, 3000) : dice.within(0.1, 3 * conditions.latencyMs);
      actor.scheduler.after(delayMs, actor, () => hear(isLost ? { type: "ANYTHING" } : wake));
    }
  }
}
