/** Which events an id stands for that a sender gave to an event, or a caller to an invocation. */
import { GRAPH_RUN_EVENT } from "@holdfast/graph/definition";
import { plainName, qualify, type RunFilter } from "@holdfast/store";
import type { HttpParts } from "./parts.ts";

/** Invocations are events of this name; their ids belong to the function that they start. */
const INVOKED = "inngest/function.invoked";

type Parts = Pick<HttpParts, "store" | "dispatcher">;
type Narrow = Pick<RunFilter, "environment" | "functionId" | "eventName">;

/**
 * The events that a filter is about; undefined = any. What a key stands for is looked up once: events that are given the
 * key later are none of them.
 */
export async function eventIdsOf(
  parts: Parts,
  filter: Narrow,
  { eventId, key }: { readonly eventId: string | undefined; readonly key: string | undefined },
): Promise<readonly string[] | undefined> {
  if (key === undefined) return eventId === undefined ? undefined : [eventId];
  const ofKey = await eventsOf(parts, filter, key);
  return eventId === undefined ? ofKey : ofKey.filter((id) => id === eventId);
}

/** Ids are kept by the event's name: those are tried that something here listens to. */
async function eventsOf({ store, dispatcher }: Parts, filter: Narrow, key: string): Promise<readonly string[]> {
  const { environment = "", functionId, eventName } = filter;
  const here = [...dispatcher.functions.all()].filter(
    (fn) => fn.environment === environment && (functionId === undefined || fn.id === functionId),
  );
  const listened = here.flatMap(({ settings }) =>
    settings.triggers.flatMap((trigger) => (trigger.type === "event" ? trigger.pattern : [])),
  );
  const ofGraphs = dispatcher.functions.graphs.patternsOf(environment, functionId);
  const names = new Set([...listened, ...ofGraphs, ...(eventName === undefined ? [] : [eventName])]);
  const ofEvents = [...names].map((name) => ({ name: qualify(environment, name), key }));
  const invoked = qualify(environment, INVOKED);
  const ofInvocations = here.map(({ id }) => ({ name: invoked, key: `${plainName(id)}\n${key}` }));
  const asked = { name: qualify(environment, GRAPH_RUN_EVENT), key, environment };
  return store.eventsOfKeys([...ofEvents, ...ofInvocations], asked);
}
