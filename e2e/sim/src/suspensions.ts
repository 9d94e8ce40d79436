/**
 * The adversary `suspensions`: a process, thread, machine or the database is stopped for a while and goes on as if
 * nothing had been.
 */
import type { AppNode } from "./app.ts";
import type { Tables } from "./database/tables.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Dice } from "./random.ts";
import type { Actor, Scheduler, WakeOrder } from "./scheduler.ts";

/** Who stalls: a process as by SIGSTOP, one thread of it, or a whole machine, whose monotonic clock stops as well. */
export const PARTIES = ["app", "thread", "machine of app", "gateway", "machine of gateway", "database"] as const;

/** Someone is stopped for a while, and goes on as if nothing had been; what comes meanwhile waits in the kernel. */
export interface Suspension {
  readonly atMs: number;
  readonly party: (typeof PARTIES)[number];
  readonly forMs: number;
  readonly order: WakeOrder;
  /** Not at once, but at the end of a turn of its event loop: this many from then on. */
  readonly afterTurns: number;
}

export interface SuspendableWorld {
  readonly scheduler: Scheduler;
  readonly tables: Tables;
  readonly liveApps: readonly AppNode[];
  readonly liveGateways: readonly GatewayNode[];
  /** Nothing goes wrong any more. */
  readonly isCalm: boolean;
  /** Until then someone stalls. */
  wakeMs: number;
}

/** From much shorter than any deadline to longer than every lease. */
const LENGTHS_MS = [
  [100, 1_500],
  [1_500, 6_000],
  [6_000, 25_000],
] as const;
const LAST_TURN = 25;
/** The threads of a process that goes on get the processor one after the other. */
const APART_MS = 5;

export function planSuspensions(dice: Dice, windowMs: number): Suspension[] {
  // Each schedule has its own few parties, so that one that is stopped meets others that go on.
  const parties = PARTIES.filter(() => dice.chance(0.4));
  if (parties.length === 0) parties.push(dice.pick(PARTIES));
  return Array.from({ length: dice.between(1, 4) }, () => {
    const [leastMs, mostMs] = dice.pick(LENGTHS_MS);
    return {
      atMs: dice.within(0, windowMs),
      party: dice.pick(parties),
      forMs: dice.within(leastMs, mostMs),
      order: dice.pick(["timers first", "timers last", "as it came"]),
      afterTurns: dice.chance(0.3) ? 0 : dice.between(1, LAST_TURN),
    };
  });
}

export function suspend(world: SuspendableWorld, suspension: Suspension, dice: Dice): void {
  const { scheduler } = world;
  const { party, forMs } = suspension;
  const note = (who: string): void =>
    scheduler.trace.note(scheduler.nowMs, who, "suspended", `${party} ${Math.round(forMs)}`);
  const isMachine = party.startsWith("machine");
  const [app, gateway] = [pickOf(world.liveApps, dice), pickOf(world.liveGateways, dice)];
  /** `first` is whose turns are counted; all of its process are stopped that are there then. */
  const stop = (first: Actor | undefined, all: () => readonly (Actor | undefined)[]): void => {
    if (!first) return;
    const act = (): void => {
      if (world.isCalm) return;
      note(first.name);
      // A thread that hangs is replaced: nothing waits for it.
      if (party !== "thread") world.wakeMs = Math.max(world.wakeMs, scheduler.nowMs + forMs);
      for (const actor of all()) {
        actor?.suspend(forMs + dice.within(0, APART_MS), suspension.order, isMachine);
      }
    };
    if (suspension.afterTurns === 0) act();
    // Microtasks belong to the turn.
    else first.afterTurns(suspension.afterTurns, () => scheduler.after(0, null, act));
  };
  switch (party) {
    case "app":
    case "machine of app": {
      const first = dice.chance(0.5) ? app?.thread?.actor : undefined;
      return stop(first ?? app?.main, () => [app?.main, app?.thread?.actor, ...(app?.poolActors ?? [])]);
    }
    case "thread":
      return stop(app?.thread?.actor, () => [app?.thread?.actor]);
    case "gateway":
    case "machine of gateway":
      return stop(gateway?.actor, () => [gateway?.actor]);
    case "database":
      note("database");
      world.tables.stopsMs = Math.max(world.tables.stopsMs, scheduler.nowMs + forMs);
      world.wakeMs = Math.max(world.wakeMs, world.tables.stopsMs);
      return;
  }
}

const pickOf = <T>(values: readonly T[], dice: Dice): T | undefined =>
  values.length > 0 ? dice.pick(values) : undefined;
