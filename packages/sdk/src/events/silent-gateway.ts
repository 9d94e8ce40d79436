/** Finds out, while a call has no answer yet, whether its gateway lives, for the message in case that none comes. */
import { isRecord } from "@holdfast/protocol";
import type { SendPorts } from "./send-http.ts";

const HANGS =
  "nor is there one to /health: what takes the connection hangs, or is no gateway. Look at its process and log, and at what is in between, such as a proxy";

/** What is to be looked at. A gateway answers `/health` without its database. */
export async function whySilent(
  url: string,
  { fetch }: Pick<SendPorts, "fetch">,
  signal: AbortSignal,
): Promise<string> {
  try {
    const response = await fetch(new URL("/health", url).href, { signal });
    return saidBy(await response.json());
  } catch {
    return HANGS;
  }
}

function saidBy(health: unknown): string {
  if (!isRecord(health) || health.ok !== true) return "what answers /health there is no Holdfast gateway";
  const { database } = health;
  if (!isRecord(database)) return "its /health answers";
  if (database.ok === true)
    return "its /health answers and says that its database is there, which may be slow: look at both";
  return `its /health answers and says that it waits for its database: ${String(database.error).slice(0, 200)}`;
}
