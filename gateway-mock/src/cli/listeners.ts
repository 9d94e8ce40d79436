/** Which events start something at a gateway, and which end something. */
import { isRecord } from "@holdfast/protocol";
import type { GatewayClient } from "./gateway-client.ts";

/** The names of events that functions are triggered by. */
export async function listenersOf(client: GatewayClient): Promise<readonly string[]> {
  const { functions } = await client.get<{ functions?: unknown }>("/dev");
  if (!Array.isArray(functions)) return [];
  const triggers = functions.flatMap((one: unknown) =>
    isRecord(one) && Array.isArray(one.triggers) ? one.triggers : [],
  );
  const names = triggers.flatMap((one: unknown) =>
    isRecord(one) && typeof one.pattern === "string" ? [one.pattern] : [],
  );
  return [...new Set(names)];
}

/** Whether functions have runs that the event cancels (`cancelOn`). */
export async function cancelsRuns(client: GatewayClient, eventName: string): Promise<boolean> {
  const { functions } = await client.get<{ functions?: unknown }>("/v1/functions");
  if (!Array.isArray(functions)) return false;
  const rules = functions.flatMap((one: unknown) => (isRecord(one) && Array.isArray(one.cancelOn) ? one.cancelOn : []));
  return rules.some((one: unknown) => isRecord(one) && one.event === eventName);
}
