/** `send`: sends an event and says what it started. An event that starts nothing is told so, with names that are close. */
import { HoldfastError, nearestName, sleep, systemClock, systemTimers } from "@holdfast/core";
import { eventMatches } from "@holdfast/engine";
import { isRecord } from "@holdfast/protocol";
import { usage } from "../config/settings.ts";
import { instantMs, isInstant } from "../http/instant-text.ts";
import { awaitRuns, exitCodeOfRuns } from "./await-runs.ts";
import { SEND_OPTIONS } from "./client-options.ts";
import { type CommandContext, clientOf, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { type GatewayClient, isPassing } from "./gateway-client.ts";
import { jsonArgument } from "./json-argument.ts";
import { cancelsRuns, listenersOf } from "./listeners.ts";
import { environmentsWith } from "./other-environments.ts";
import { printJson } from "./output.ts";
import { withProgress } from "./progress.ts";
import { runText, type ShownRunDetail } from "./run-text.ts";
import { visible } from "./table.ts";

const POLL_MS = 50;
/** While the gateway is gone. */
const GONE_POLL_MS = 250;
/** How long an event may take to start runs before it counts as one that starts none. */
const START_MS = 2_000;

/** What an event started; `unknown`: its key does not open that. */
type Started =
  | { readonly type: "runs"; readonly runIds: readonly string[]; readonly collected: readonly string[] }
  | { readonly type: "unknown" };

export async function sendEvent(context: CommandContext): Promise<ExitCode> {
  const options = readOptions(SEND_OPTIONS, context);
  const { output, args } = context;
  const [name = ""] = args;
  const client = clientOf(context);
  const atMs = options.at === undefined ? undefined : timeOf(options.at);
  const event = {
    name,
    data: jsonArgument("--data", options.data),
    ...(options.id === undefined ? {} : { id: options.id }),
    ...(atMs === undefined ? {} : { ts: atMs }),
  };
  const sent = await withProgress(
    output,
    () => `Sending to ${client.url} …`,
    () => client.sendEvents([event]),
  );
  const [eventId = ""] = sent.ids;
  // Said before what follows, which may fail or be ended: the event is stored, and sent again it would start all twice.
  if (!options.json) output.print(`event  ${visible(eventId)}\n`);
  const isLater = atMs !== undefined && atMs > systemClock.nowMs();
  const { timeoutMs } = options;
  const keyHint = options.keys === undefined ? " (HOLDFAST_SIGNING_KEY)" : ", which the key file does not have";
  let started: Started = { type: "runs", runIds: [], collected: [] };
  let runs: readonly ShownRunDetail[] = [];
  try {
    const goneMs = options.wait ? timeoutMs : START_MS;
    if (!isLater) started = await startedBy(client, { name, eventId, goneMs });
    if (options.wait && started.type === "unknown") throw cannotWait(keyHint);
    const ids = idsOf(started);
    if (options.wait) runs = await awaitRuns(client, ids, { output, timeoutMs, speaks: true, exist: true });
  } catch (error) {
    const runIds = idsOf(started);
    if (options.json) printJson(output, { eventId, runIds: runIds.length === 0 ? null : runIds });
    else output.note("The event is stored.\n");
    throw error;
  }
  const runIds = idsOf(started);
  if (options.json)
    printJson(output, { eventId, runIds: started.type === "runs" ? runIds : null, ...(options.wait ? { runs } : {}) });
  else {
    output.print(shownRuns(runIds, runs, output.isTerminal ? output.columns : 0));
    const facts = { isLater, started, isAwaited: sent.awaited.length > 0, keyHint };
    // A hint fails no command.
    output.note(await hintFor(context, client, name, facts).catch(() => ""));
    if (options.wait && runIds.length === 0) output.note("So --wait has no run to wait for; the event is stored.\n");
  }
  return options.wait ? exitCodeOfRuns(runs) : EXIT.done;
}

function shownRuns(runIds: readonly string[], runs: readonly ShownRunDetail[], columns: number): string {
  if (runs.length > 0) return runs.map((run) => `\n${runText(run, columns)}`).join("");
  return runIds.map((id) => `run    ${visible(id)}\n`).join("");
}

/** To end as if all had completed would let a script go on with what has failed. */
const cannotWait = (keyHint: string): HoldfastError =>
  new HoldfastError(
    "UNAUTHORIZED",
    `--wait needs the signing key${keyHint}: the event key does not show which runs an event starts.`,
  );

const idsOf = (started: Started): readonly string[] => (started.type === "runs" ? started.runIds : []);

interface SentEvent {
  readonly name: string;
  readonly eventId: string;
  /** How long a gateway that goes now is waited for. */
  readonly goneMs: number;
}

async function startedBy(client: GatewayClient, { name, eventId, goneMs }: SentEvent): Promise<Started> {
  const goneEndMs = systemClock.monotonicMs() + goneMs;
  let endMs = systemClock.monotonicMs() + START_MS;
  for (;;) {
    const found = await lookNow(client, name, eventId).catch((error: unknown) => {
      if (!isPassing(error) || systemClock.monotonicMs() >= goneEndMs) throw error;
      return null;
    });
    if (found === null) endMs = systemClock.monotonicMs() + START_MS;
    else if (found.isAll || systemClock.monotonicMs() >= endMs) return found.started;
    await sleep(systemTimers, found === null ? GONE_POLL_MS : POLL_MS);
  }
}

/** `isAll`: nothing more will come of it. */
async function lookNow(
  client: GatewayClient,
  name: string,
  eventId: string,
): Promise<{ readonly started: Started; readonly isAll: boolean }> {
  const started = await startedNow(client, eventId);
  if (started.type === "unknown" || started.runIds.length + started.collected.length > 0) {
    return { started, isAll: true };
  }
  return { started, isAll: !(await listenersOf(client)).some((pattern) => eventMatches(pattern, name)) };
}

interface ShownEvent {
  readonly runIds?: unknown;
  readonly collected?: unknown;
}

/** Unknown: the event is not ours to read. */
async function startedNow(client: GatewayClient, eventId: string): Promise<Started> {
  try {
    const { runIds, collected } = await client.get<ShownEvent>(`/v1/events/${encodeURIComponent(eventId)}`);
    return {
      type: "runs",
      runIds: Array.isArray(runIds) ? runIds.map(String) : [],
      collected: Array.isArray(collected) ? collected.filter(isRecord).map(({ message }) => String(message)) : [],
    };
  } catch (error) {
    if (HoldfastError.is(error) && error.code === "UNAUTHORIZED") return { type: "unknown" };
    throw error;
  }
}

interface SentFacts {
  readonly isLater: boolean;
  readonly started: Started;
  /** Runs waited for an event of this name. */
  readonly isAwaited: boolean;
  readonly keyHint: string;
}

async function hintFor(
  context: CommandContext,
  client: GatewayClient,
  name: string,
  { isLater, started, isAwaited, keyHint }: SentFacts,
): Promise<string> {
  if (isLater) return "Its runs start at that time.\n";
  if (started.type === "unknown") return `Which runs it starts is shown with the signing key${keyHint}.\n`;
  if (started.collected.length > 0) return started.collected.map((one) => `${visible(one)}\n`).join("");
  if (started.runIds.length > 0) return "";
  const names = await listenersOf(client);
  if (names.some((pattern) => eventMatches(pattern, name))) {
    return `It started nothing: a condition (\`if\`), a rate limit, an idempotency key or a singleton of what listens to "${visible(name)}" most likely forbids it; the gateway's log says which.\n`;
  }
  const none = `It started nothing: no function is triggered by "${visible(name)}"`;
  if (isAwaited)
    return `${none}; it went to the runs that wait for it, or that it cancels, and those that it fits have it.\n`;
  // A hint fails no command.
  if (await cancelsRuns(client, name).catch(() => false)) {
    return `${none}; runs that it cancels, or that wait for it, have it.\n`;
  }
  const elsewhere = await elsewhereHint(context, name).catch(() => "");
  if (elsewhere !== "") return `${none}. ${elsewhere}\n`;
  if (names.length === 0) return "It started nothing: no function is registered. Is an app connected?\n";
  const near = nearestName(name, names);
  const known =
    near === undefined ? `Triggers are: ${visible(names.slice(0, 10).join(", "))}` : `Did you mean "${visible(near)}"?`;
  return `${none}; runs that wait for it have it. ${known}\n`;
}

/** The event was meant for another environment, most likely. */
async function elsewhereHint(context: CommandContext, name: string): Promise<string> {
  const [first, ...others] = (await environmentsWith(context, name)).map(visible);
  if (first === undefined) return "";
  if (others.length === 0) return `The environment ${first} has a function that is: --env ${first}`;
  return `The environments ${[first, ...others].join(", ")} have one that is: --env ${first}`;
}

/** @throws HoldfastError `GATEWAY_USAGE` */
function timeOf(text: string): number {
  const ms = instantMs(text);
  if (isInstant(ms)) return ms;
  throw usage(
    `--at must be a time with its zone, such as 2027-01-31T09:00:00Z, or milliseconds since 1970, not ${JSON.stringify(text)}.`,
  );
}
