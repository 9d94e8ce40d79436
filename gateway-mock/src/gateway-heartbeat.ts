/** Tells the database regularly that this gateway is alive, and which of its connections and apps are. */
import { type Log, messageOf } from "@holdfast/core";
import type { Store } from "@holdfast/store";
import type { Dispatcher } from "./dispatch/index.ts";
import type { ConnectionList } from "./ws/connection-list.ts";

const STALE_CONNECTION_MS = 60_000;
const TOUCH_EVERY_MS = 15_000;
const SIGN_EVERY_MS = 5_000;

export interface GatewayHeartbeatParts {
  readonly dispatcher: Dispatcher;
  readonly store: Store;
  readonly gatewayId: string;
  readonly list: Pick<ConnectionList, "removeAgain">;
  readonly log: Log;
}

/** Writes now and then that this gateway, its connections and their apps are there; returns what ends it. */
export function startGatewayHeartbeat({ dispatcher, store, gatewayId, list, log }: GatewayHeartbeatParts): () => void {
  const touch = oneAtATime(async () => {
    await dispatcher.touchApps();
    await store.touchConnections(gatewayId, STALE_CONNECTION_MS);
    // Last: what hinders it must not make those that are there look gone.
    await list.removeAgain();
  }, "The list of connections was not updated");
  const sign = oneAtATime(() => store.touchGateway(gatewayId), "The gateway's heartbeat could not be written");

  function oneAtATime(work: () => Promise<void>, failed: string): () => void {
    let underWay = false;
    return () => {
      // While the database is away each one waits for it.
      if (underWay) return;
      underWay = true;
      work()
        .catch((error: unknown) => log("debug", `${failed}: ${messageOf(error)}`))
        .finally(() => {
          underWay = false;
        });
    };
  }

  sign();
  const timers = [setInterval(touch, TOUCH_EVERY_MS), setInterval(sign, SIGN_EVERY_MS)];
  for (const timer of timers) timer.unref();
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
