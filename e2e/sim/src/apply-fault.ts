/** What each kind of fault (`faults.ts`) does to the world when its time comes. */
import type { AppNode } from "./app.ts";
import type { Tables } from "./database/tables.ts";
import type { FaultKind } from "./faults.ts";
import type { GatewayNode } from "./gateway.ts";
import type { Network } from "./network.ts";
import type { Dice } from "./random.ts";
import type { Actor, Scheduler } from "./scheduler.ts";

export interface FaultyWorld {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly tables: Tables;
  readonly liveApps: readonly AppNode[];
  readonly liveGateways: readonly GatewayNode[];
  readonly gateways: readonly GatewayNode[];
  /** Runs that someone asked to cancel. */
  readonly cancelled: Set<string>;
}

export function applyFault(world: FaultyWorld, kind: FaultKind, dice: Dice): void {
  const { scheduler, network, liveApps, liveGateways } = world;
  scheduler.trace.note(scheduler.nowMs, "fault", kind);
  const app = liveApps.length > 0 ? dice.pick(liveApps) : undefined;
  const gateway = liveGateways.length > 0 ? dice.pick(liveGateways) : undefined;
  const { connections } = network;
  const connection = connections.length > 0 ? dice.pick(connections) : undefined;
  const silence = (actor: Actor): void => {
    for (const one of connections) if (one.worker.actor === actor || one.gateway.actor === actor) one.silent = true;
  };
  const jump = dice.pick([-60_000, -5_000, -500, 500, 5_000, 60_000]);
  switch (kind) {
    case "cut":
      return connection?.cut({ worker: true, gateway: true });
    case "cut, only the worker is told":
      return connection?.cut({ worker: true, gateway: false });
    case "cut, only the gateway is told":
      return connection?.cut({ worker: false, gateway: true });
    case "half-open":
      if (connection) connection.silent = true;
      return;
    case "stall up":
      return connection?.stall("up", dice.within(100, 6000));
    case "stall down":
      return connection?.stall("down", dice.within(100, 6000));
    case "kill thread":
      return app?.thread?.actor.die();
    case "kill thread within an action":
      return app?.thread?.actor.dieAtAction(dice.between(1, 30));
    case "throw in thread":
      return app?.thread?.throws(new Error("planted"));
    case "kill app":
      return app?.main.die();
    case "kill app within an action":
      return app?.main.dieAtAction(dice.between(1, 30));
    case "app's machine is gone":
      if (app?.thread) silence(app.thread.actor);
      return app?.main.die();
    case "kill gateway":
      return gateway?.actor.die();
    case "kill gateway within an action":
      return gateway?.actor.dieAtAction(dice.between(1, 60));
    case "gateway's machine is gone":
      if (gateway) silence(gateway.actor);
      return gateway?.actor.die();
    case "block main":
      return app?.main.freeze(dice.within(100, 6000));
    case "suspend app":
      return app?.freeze(dice.within(100, 6000));
    case "suspend gateway":
      return gateway?.actor.freeze(dice.within(100, 6000));
    case "drain gateway":
      return gateway?.stop();
    case "close app":
      return app?.close();
    case "close app and kill its thread":
      app?.close();
      app?.thread?.actor.dieAtAction(dice.between(1, 10));
      return;
    case "clock of app jumps":
      // No one sets the clock of a machine that is suspended: it could hide how long it was.
      if (app?.main.isAsleep) return;
      if (app) app.main.wallOffsetMs += jump;
      if (app?.thread) app.thread.actor.wallOffsetMs += jump;
      return;
    case "clock of gateway jumps":
      if (gateway?.actor.isAsleep) return;
      if (gateway) gateway.actor.wallOffsetMs += jump;
      return;
    case "cancel run":
      return cancel(world, dice);
  }
}

function cancel({ tables, gateways, cancelled }: FaultyWorld, dice: Dice): void {
  const live = [...tables.runs.values()].filter(({ head }) => head.endedMs === null);
  const up = gateways.filter((gateway) => gateway.isUp);
  if (live.length === 0 || up.length === 0) return;
  const { id } = dice.pick(live).head;
  const gateway = dice.pick(up);
  cancelled.add(id);
  gateway.actor.soon(() => void gateway.core.dispatcher.cancel(id, "asked for").catch(() => {}));
}
