/** Where a command finds nothing, says which of the names that it was given the gateway does not know. */
import { nearestName } from "@holdfast/core";
import { eventMatches } from "@holdfast/engine";
import { CLIENT_OPTIONS } from "./client-options.ts";
import { type CommandContext, readOptions } from "./context.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { listenersOf } from "./listeners.ts";
import { visible } from "./table.ts";

const MOST_NAMED = 10;
/** Of invocations, schedules and graphs: no function names them as triggers. */
const OWN_EVENT = /^(inngest|holdfast)\//;

/** Nothing is refused: an app that has the name may connect later. */
export async function noteUnknown(
  context: CommandContext,
  client: GatewayClient,
  { eventName }: { readonly eventName?: string | undefined } = {},
): Promise<void> {
  const { env } = readOptions(CLIENT_OPTIONS, context);
  const find = async (): Promise<string> =>
    (env === undefined ? "" : await environmentNote(client, env)) ||
    (eventName === undefined || OWN_EVENT.test(eventName) ? "" : await eventNote(client, eventName));
  // A hint fails no command: a gateway of an earlier version does not know the routes.
  const note = await find().catch(() => "");
  if (note !== "") context.output.note(`${visible(note)}\n`);
}

async function environmentNote(client: GatewayClient, env: string): Promise<string> {
  const { environments } = await client.get<{ environments: readonly { name: string }[] }>("/v1/environments");
  const names = environments.map(({ name }) => name);
  return names.includes(env) ? "" : `No app has connected in the environment "${env}". ${known(env, names)}`;
}

async function eventNote(client: GatewayClient, name: string): Promise<string> {
  const patterns = await listenersOf(client);
  if (patterns.some((pattern) => eventMatches(pattern, name))) return "";
  return `No function is triggered by "${name}". ${known(name, patterns)}`;
}

function known(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  if (near !== undefined) return `Did you mean "${near}"?`;
  return names.length === 0 ? "None is known." : `Known: ${names.slice(0, MOST_NAMED).join(", ")}.`;
}
