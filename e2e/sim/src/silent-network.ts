/** The adversary `silentNetwork`: connections that swallow or delay what goes over them and tell at most one end. */
import type { AppNode } from "./app.ts";
import type { Connection } from "./network.ts";
import type { Dice } from "./random.ts";
import type { Actor, Scheduler } from "./scheduler.ts";

/** What the network does to a connection without telling both ends. */
const SILENT_FAULTS = [
  "swallows all",
  "tells the gateway only",
  "holds back what goes down",
  "holds back both ways",
] as const;

/** Something between the ends of a connection says nothing of what it does, often while code blocks its worker. */
interface SilentFault {
  /** With the first request that is sent after that. */
  readonly atMs: number;
  readonly kind: (typeof SILENT_FAULTS)[number];
  readonly afterMs: number;
  readonly forMs: number;
  /** The worker's main thread stands still for so long, from so long after the request was sent. */
  readonly block: { readonly afterMs: number; readonly forMs: number } | null;
}

export interface SilentNetworkWorld {
  readonly scheduler: Scheduler;
  readonly threads: ReadonlyMap<Actor, { readonly app: AppNode }>;
  readonly isCalm: boolean;
}

/** From much shorter than any deadline to longer than every lease. */
const LENGTHS_MS = [
  [100, 1_500],
  [1_500, 6_000],
  [6_000, 25_000],
] as const;
const LONGEST_BLOCK_MS = 6_000;

/** The silences of a schedule. */
export class SilentNetwork {
  readonly #world: SilentNetworkWorld;
  #planned: readonly SilentFault[];

  constructor(world: SilentNetworkWorld, dice: Dice, windowMs: number, mayBlock: boolean) {
    this.#world = world;
    this.#planned = Array.from({ length: dice.between(1, 4) }, () => planOne(dice, windowMs, mayBlock));
  }

  /** A request is sent. */
  requested(connection: Connection): void {
    const { scheduler, threads, isCalm } = this.#world;
    const next = this.#planned.find(({ atMs }) => atMs <= scheduler.nowMs);
    if (!next || isCalm) return;
    this.#planned = this.#planned.filter((one) => one !== next);
    const { block } = next;
    const app = threads.get(connection.worker.actor)?.app;
    if (block) scheduler.after(block.afterMs, null, () => app?.main.freeze(block.forMs));
    scheduler.after(next.afterMs, null, () => this.#begin(next, connection, app));
  }

  #begin({ kind, forMs }: SilentFault, connection: Connection, app: AppNode | undefined): void {
    const { scheduler, isCalm } = this.#world;
    if (isCalm || !connection.alive) return;
    scheduler.trace.note(scheduler.nowMs, app?.name ?? "nobody", "silence", `${kind} ${Math.round(forMs)}`);
    switch (kind) {
      case "swallows all":
        connection.silent = true;
        return;
      case "tells the gateway only":
        return connection.cut({ worker: false, gateway: true });
      case "holds back both ways":
        connection.stall("up", forMs);
        return connection.stall("down", forMs);
      case "holds back what goes down":
        return connection.stall("down", forMs);
    }
  }
}

function planOne(dice: Dice, windowMs: number, mayBlock: boolean): SilentFault {
  const [leastMs, mostMs] = dice.pick(LENGTHS_MS);
  // Often before the request has reached main.
  const [soonMs, lateMs] = dice.chance(0.5) ? [0, 40] : [0, 1_000];
  const block = { afterMs: dice.within(soonMs, lateMs), forMs: dice.within(100, LONGEST_BLOCK_MS) };
  return {
    atMs: dice.within(0, windowMs),
    kind: dice.pick(SILENT_FAULTS),
    afterMs: dice.within(0, dice.pick([50, 1_500])),
    forMs: dice.within(leastMs, mostMs),
    block: dice.chance(0.8) && mayBlock ? block : null,
  };
}
