/** Runs by the id that a sender gave to their event, or a caller to their invocation. */
import { plainName, qualify, type RunFilter, type RunPage } from "@holdfast/store";
import type { HttpParts } from "./parts.ts";

/** Invocations are events of this name; their ids belong to the function that they start. */
const INVOKED = "inngest/function.invoked";
/** Events of different names may have the same id. */
const MOST_EVENTS = 20;

type Parts = Pick<HttpParts, "store" | "dispatcher">;

/** Without a key all that fit the filter. Those of a key are on one page. */
export async function listRuns(parts: Parts, filter: RunFilter, key: string | undefined): Promise<RunPage> {
  if (key === undefined) return parts.store.listRuns(filter);
  const eventIds = await eventsOf(parts, filter, key);
  const pages = await Promise.all(
    eventIds.slice(0, MOST_EVENTS).map((eventId) => parts.store.listRuns({ ...filter, eventId })),
  );
  const runs = pages.flatMap((page) => page.runs).sort((a, b) => (a.id < b.id ? 1 : -1));
  return { runs: runs.slice(0, filter.limit), nextCursor: null };
}

/** Ids are kept by the event's name: those are tried that something here listens to. */
export async function eventsOf(
  { store, dispatcher }: Parts,
  filter: Pick<RunFilter, "environment" | "functionId" | "eventName">,
  key: string,
): Promise<readonly string[]> {
  const { environment = "", functionId, eventName } = filter;
  const here = [...dispatcher.functions.all()].filter(
    (fn) => fn.environment === environment && (functionId === undefined || fn.id === functionId),
  );
  const listened = here.flatMap(({ settings }) =>
    settings.triggers.flatMap((trigger) => (trigger.type === "event" ? trigger.pattern : [])),
  );
  const names = new Set([...listened, ...(eventName === undefined ? [] : [eventName])]);
  const ofEvents = [...names].map((name) => ({ name: qualify(environment, name), key }));
  const invoked = qualify(environment, INVOKED);
  const ofInvocations = here.map(({ id }) => ({ name: invoked, key: `${plainName(id)}\n${key}` }));
  return store.eventsOfKeys([...ofEvents, ...ofInvocations]);
}
