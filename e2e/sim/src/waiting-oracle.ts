/** Looks every now and then whether each run that has not ended has a reason to wait, as each gateway would say it. */
import { openRuns, placesTaken } from "@holdfast/store";
import type { Tables } from "./database/tables.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Oracle } from "./oracle.ts";
import type { Scheduler } from "./scheduler.ts";

const EVERY_MS = 250;

export interface WaitingWorld {
  readonly scheduler: Scheduler;
  readonly tables: Tables;
  readonly oracle: Oracle;
  readonly liveGateways: readonly GatewayNode[];
}

/** Reads the tables themselves: a look takes no time, and changes nothing for those who are looked at. */
export function watchReasons(world: WaitingWorld): void {
  const look = (): void => {
    checkReasons(world);
    if (!world.oracle.violation) world.scheduler.after(EVERY_MS, null, look);
  };
  world.scheduler.after(EVERY_MS, null, look);
}

function checkReasons({ tables, oracle, liveGateways }: WaitingWorld): void {
  const going = [...tables.runs.values()].filter(({ head }) => head.endedMs === null);
  if (going.length === 0) return;
  const runs = openRuns(
    tables,
    going.map(({ head }) => head.id),
  );
  for (const { name, core, ready } of liveGateways) {
    if (!ready) continue;
    const { waitingRuns } = core.dispatcher;
    const asked = waitingRuns.placesOf(runs);
    const around = {
      nowMs: tables.nowMs,
      connections: tables.registry.connections(),
      places: placesTaken(tables, asked),
    };
    for (const run of runs) {
      const reason = waitingRuns.reasonOf(run, asked, around);
      if (!reason) oracle.fail("S49", `Run ${run.head.id} is ${run.head.status} at ${name}.`);
    }
  }
}
