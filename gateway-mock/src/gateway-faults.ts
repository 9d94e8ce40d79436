/** Joins faults and conversations to the parts of a gateway. */
import { randomInt } from "node:crypto";
import type { Clock, Log, Timers } from "@holdfast/core";
import type { Store } from "@holdfast/store";
import { type GatewayConfig, isLoopback } from "./config/config.ts";
import type { Dispatcher } from "./dispatch/index.ts";
import { Conversations } from "./faults/conversations.ts";
import { Faults } from "./faults/faults.ts";
import { faultyStore } from "./faults/faulty-store.ts";

const MAX_SEED = 2 ** 32;

export interface FaultPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** Null where none may be asked for: production, and addresses that others can reach. */
export function faultsOf({ faults, host }: GatewayConfig, ports: FaultPorts): Faults | null {
  return faults && isLoopback(host) ? new Faults({ ...ports, newSeed: () => randomInt(MAX_SEED) }) : null;
}

/** Why there are none. */
export function whyNoFaults({ faults, host }: GatewayConfig): string {
  const how = "Ask one that was started with `holdfast-gateway dev`.";
  if (!isLoopback(host)) {
    return `This gateway listens on ${host}, which other machines can reach, so it makes no faults. ${how}`;
  }
  return `This gateway makes no faults${faults ? "" : ": its option `faults` is off, as it is with `start`"}. ${how}`;
}

/** The store as the engine is given it. */
export function storeWithFaults(store: Store, faults: Faults | null, timers: Timers): Store {
  if (!faults) return store;
  return faultyStore(store, {
    timers,
    isReading: () => faults.mayHitStore,
    decide: (operation) => faults.onStore(operation),
  });
}

export function openConversations(
  faults: Faults | null,
  dispatcher: Dispatcher,
  { clock, timers }: Pick<FaultPorts, "clock" | "timers">,
  skipTime: ((ms: number) => Promise<void>) | undefined,
): Conversations {
  const expire = (requestIds: readonly string[]): void => dispatcher.requests.expire(requestIds);
  const find = (requestId: string) => dispatcher.requests.get(requestId);
  const conversations = new Conversations({ clock, timers, faults, find, expire });
  faults?.begin({
    requestsInFlight: () => dispatcher.requests.all(),
    expire,
    connections: () => conversations.all(),
    skipTime,
  });
  return conversations;
}
