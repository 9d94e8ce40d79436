/** Of an event that nothing listens to: in which other environments something does, as far as the key opens them. */
import { eventMatches } from "@holdfast/engine";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandContext, readOptions } from "./context.ts";
import { gatewayClient } from "./gateway-client.ts";
import { listenersOf } from "./listeners.ts";

const DEFAULT = "default";
/** Each is a call. */
const MOST_ASKED = 20;

export async function environmentsWith(context: CommandContext, eventName: string): Promise<readonly string[]> {
  const options = readOptions(CLIENT_OPTIONS, context);
  const { environments } = await gatewayClient(options).get<{
    readonly environments: readonly { readonly name: string }[];
  }>("/v1/environments");
  const names = environments.map(({ name }) => name).filter((name) => name !== (options.env ?? DEFAULT));
  const listening: string[] = [];
  for (const name of names.slice(0, MOST_ASKED)) {
    const patterns = await listenersOf(gatewayClient({ ...options, env: name }));
    if (patterns.some((pattern) => eventMatches(pattern, eventName))) listening.push(name);
  }
  return listening;
}
