import type { Store } from "@holdfast/store";
import { ModelStore } from "../../src/database/store.ts";
import { CALM_STORE } from "../../src/database/store-conditions.ts";
import { Tables } from "../../src/database/tables.ts";
import { WakeChannel } from "../../src/database/wake-channel.ts";
import { createDice } from "../../src/random.ts";
import { Actor, Scheduler } from "../../src/scheduler.ts";
import { TraceHash } from "../../src/trace.ts";

const EPOCH_MS = 1_700_000_000_000;

/** The model of the store, with a clock of its database that is put where one wants it. */
export interface Model {
  readonly store: Store;
  readonly tables: Tables;
  setClock(nowMs: number): void;
  /** Lets its calls come to their ends. */
  settle<T>(calls: Promise<T>): Promise<T>;
  dump(): Record<string, readonly unknown[]>;
}

export function openModel(): Model {
  let nowMs = 0;
  const scheduler = new Scheduler(new TraceHash(false));
  const tables = new Tables(() => nowMs);
  const store = new ModelStore(
    tables,
    new WakeChannel(),
    new Actor(scheduler, "gateway", 1),
    createDice(1),
    () => CALM_STORE,
  );
  return {
    store,
    tables,
    setClock(atMs) {
      nowMs = atMs - EPOCH_MS;
    },
    async settle(calls) {
      let over = false;
      const done = (): void => {
        over = true;
      };
      calls.then(done, done);
      await scheduler.run(() => over, Number.MAX_VALUE);
      return calls;
    },
    dump: () => dump(tables),
  };
}

function dump(tables: Tables): Record<string, readonly unknown[]> {
  const runs = [...tables.runs.values()];
  return {
    runs: runs.map(({ head }) => {
      const { appId: _app, eventName: _name, deadlineMs: _deadline, ...row } = head;
      return row;
    }),
    log: runs.flatMap(({ head, log }) => {
      let place = 0;
      return log.map(({ seq: _seq, ...row }) => {
        if (row.kind !== "LEASE_LOST") place += 1;
        return { runId: head.id, ...row, place: row.kind === "LEASE_LOST" ? 0 : place };
      });
    }),
    queue: [...tables.queue.values()].map((row) => ({ ...row })),
    events: [...tables.events.values()].map(({ event, runIds, receivedMs }) => {
      return { id: event.id, name: event.name, receivedMs, runIds: runIds.join(" "), payload: event.payloadJson };
    }),
    flowRules: [...tables.flowRules.rows.values()].map(({ live: _live, changed: _changed, ...row }) => {
      const expiresMs = row.expiresMs === Number.POSITIVE_INFINITY ? null : row.expiresMs;
      // That of a throttle is the id of a claim.
      return { ...row, data: row.kind === "throttle" ? "" : row.data, expiresMs };
    }),
    crons: [...tables.crons.rows.values()].map((row) => ({ ...row })),
    waits: tables.runsTable.waits.all(),
    functions: tables.registry.all().map(({ slug, appId, appVersion, configJson, active }) => {
      return { slug, appId, appVersion, configJson, active };
    }),
  };
}
