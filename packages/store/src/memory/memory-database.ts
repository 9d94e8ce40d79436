/**
 * A database in memory: the tables, and the stores that are opened on them. Gateways with `--store memory` and tests
 * use it.
 */
import type { Clock } from "@holdfast/core";
import type { Store, Wake } from "../port/store.ts";
import type { Unit, UnitOutcome } from "../rules/plan.ts";
import { DirectAccess, type Soon } from "./direct-access.ts";
import { KeptRuns } from "./kept-runs.ts";
import { NO_WATCH, type TableWatch } from "./rows.ts";
import { StoreOnTables } from "./store-on-tables.ts";
import { Tables } from "./tables.ts";

/** Of the runs that have ended so many are kept, the newest; see `KeptRuns`. */
export const KEPT_ENDED_RUNS = 10_000;

export interface MemoryDatabaseOptions {
  readonly clock: Pick<Clock, "nowMs">;
  readonly soon: Soon;
  readonly newUuid: () => string;
  /** Random text that cannot be guessed. */
  readonly secret: string;
  /** Time can be moved with `skipTime`. Default false. */
  readonly virtualTime?: boolean;
  /** Default `KEPT_ENDED_RUNS`. */
  readonly keptEndedRuns?: number;
}

/** State that is gone with its process. All stores that are opened on it are in this process, too. */
export interface MemoryDatabase {
  open(): Store;
}

type Listener = (wake: Wake) => void;

export function createMemoryDatabase(options: MemoryDatabaseOptions): MemoryDatabase {
  const { soon, virtualTime = false } = options;
  const tables = new KeepingTables(options);
  const stores = new Map<DirectAccess, Set<Listener>>();
  const tell = (listeners: Iterable<Listener>, wake: Wake): void => {
    for (const listener of listeners) soon(() => listener(wake));
  };
  const skip = (ms: number): void => {
    tables.skip(ms);
    for (const listeners of stores.values()) tell(listeners, { type: "ANYTHING" });
  };
  return {
    open() {
      const own = new Set<Listener>();
      const access: DirectAccess = new DirectAccess(tables, soon, {
        onWake(listener) {
          own.add(listener);
          tell([listener], { type: "ANYTHING" });
          return () => own.delete(listener);
        },
        notify(wake) {
          for (const [store, listeners] of stores) if (store !== access) tell(listeners, wake);
        },
        skip: virtualTime ? skip : null,
        close: () => void stores.delete(access),
      });
      stores.set(access, own);
      return new StoreOnTables(tables, access, options.secret);
    },
  };
}

/** Tables that forget what ended long ago, and whose time can be moved on. */
class KeepingTables extends Tables {
  readonly #time: { skippedMs: number; transactions: number };
  readonly #watch: TableWatch;

  constructor({ clock, newUuid, keptEndedRuns = KEPT_ENDED_RUNS }: MemoryDatabaseOptions) {
    const time = { skippedMs: 0, transactions: 0 };
    super({
      clock: { nowMs: () => clock.nowMs() + time.skippedMs, order: () => time.transactions },
      newUuid: () => newUuid(),
    });
    this.#time = time;
    const kept = new KeptRuns(this, keptEndedRuns);
    this.#watch = { ...NO_WATCH, changed: (runIds) => kept.changed(runIds) };
  }

  override commit(units: readonly Unit[]): readonly (UnitOutcome | null)[] {
    this.#time.transactions += 1;
    return super.commit(units);
  }

  skip(ms: number): void {
    this.jobs.skip(ms);
    this.registry.skip(ms);
    this.#time.skippedMs += ms;
  }

  protected override get watching(): TableWatch {
    return this.#watch;
  }
}
