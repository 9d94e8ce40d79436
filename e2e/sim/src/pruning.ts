/** Removes what has ended at any moment after it: caches, late replies and readers meet runs that are gone. */
import { pruneTables, type RetentionPolicy } from "@holdfast/store";
import type { Tables } from "./database/tables.ts";
import type { Oracle } from "./oracle.ts";
import type { Dice } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";

export interface PrunedWorld {
  readonly scheduler: Scheduler;
  readonly tables: Tables;
  readonly oracle: Oracle;
  readonly faults: { readonly windowMs: number };
}

/** In each schedule other periods; the shorter, the more is still under way when a run goes. */
const PERIODS_MS = [0, 0, 10, 300, 2_000] as const;

export function pruneAtRandom(world: PrunedWorld, dice: Dice): void {
  const { scheduler, tables, oracle, faults } = world;
  const policy: RetentionPolicy = {
    completedMs: dice.pick([...PERIODS_MS]),
    failedMs: dice.pick([...PERIODS_MS, null]),
    functions: new Map(),
  };
  const prune = (): void => {
    const before = new Map([...tables.runs.values()].map(({ head }) => [head.id, head]));
    const nowMs = tables.nowMs;
    tables.atOneMoment(() => pruneTables(tables, policy));
    for (const { id, status, endedMs } of before.values()) {
      if (tables.runs.has(id)) continue;
      tables.prunedIds.add(id);
      const keptMs = status === "FAILED" ? policy.failedMs : policy.completedMs;
      const isOld = endedMs !== null && keptMs !== null && nowMs - endedMs >= keptMs;
      if (!isOld) oracle.fail("S51", `Run ${id} is ${status} and ended at ${endedMs}.`);
    }
    if (scheduler.nowMs < faults.windowMs) scheduler.after(dice.within(1, 400), null, prune);
  };
  scheduler.after(dice.within(0, 400), null, prune);
}
