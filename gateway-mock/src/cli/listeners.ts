/** Which events start something at a gateway. */
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
