import { RUN_STATUSES, type Store } from "@holdfast/store";

import type { Dice } from "../../src/random.ts";
import { FUNCTIONS, MATCHES } from "./items.ts";
import type { Pair } from "./pair.ts";

type Call = <T>(name: string, args: unknown, make: (store: Store) => Promise<T>) => Promise<T | undefined>;

/** Everything that only reads, about things that are there or not. */
export async function readAll(pair: Pair, dice: Dice, call: Call): Promise<void> {
  const { runs, events } = pair.model.tables;
  const [runIds, eventIds] = [[...runs.keys()], [...events.keys()]];
  const runId = runIds.length > 0 ? dice.pick(runIds) : "none";
  const eventId = eventIds.length > 0 ? dice.pick(eventIds) : "none";
  const filter = {
    limit: dice.pick([1, 2, 100]),
    ...(dice.chance(0.5) ? { status: dice.pick(RUN_STATUSES) } : {}),
    ...(dice.chance(0.3) ? { functionId: dice.pick(FUNCTIONS) } : {}),
    ...(dice.chance(0.3) ? { cursor: runId } : {}),
    ...(dice.chance(0.2) ? { eventIds: [eventId] } : {}),
    ...(dice.chance(0.1) ? { errorText: dice.pick(["e", "NONE"]) } : {}),
  };
  const kinds = dice.pick([["event", "cancel"], ["signal"], ["invoke"]] as const);
  const name = dice.pick(["e0", "e1", "s0", "s1", "r0001"]);
  const after = dice.chance(0.2) ? { after: { match: dice.pick(["", ...MATCHES]), runId, key: "a" } } : {};
  const about = dice.chance(0.5) ? { eventId } : {};
  const matches = dice.chance(0.7) ? { matches: ["", ...MATCHES].filter(() => dice.chance(0.7)) } : {};
  const query = { name, kinds, limit: dice.pick([1, 100]), ...about, ...after, ...matches };
  await call("findWaits", query, (store) => store.findWaits(query));
  await call("waitPaths", name, (store) => store.waitPaths(name));
  await call("listRuns", filter, (store) => store.listRuns(filter));
  await call("getRun", runId, (store) => store.getRun(runId));
  await call("getEvent", eventId, (store) => store.getEvent(eventId));
  await call("storedEvents", eventId, (store) => store.storedEvents([eventId]));
  const page = {
    limit: 3,
    ...(dice.chance(0.5) ? { name: dice.pick(["e0", "e*", "none"]) } : {}),
    ...(dice.chance(0.3) ? { environment: dice.pick(["", "preview"]) } : {}),
    ...(dice.chance(0.3) ? { cursor: eventId } : {}),
  };
  await call("listEvents", page, (store) => store.listEvents(page));
  await call("loadRuns", runIds, async (store) => byId(await store.loadRuns(runIds)));
  await call("nextDueInMs", FUNCTIONS, (store) => store.nextDueInMs([...FUNCTIONS, ""]));
  await call("queueDepth", "", (store) => store.queueDepth());
  await call("listConnections", "", (store) => store.listConnections());
  await call("loadRegistry", "", (store) => store.loadRegistry());
  await call("openRuns", runIds, (store) => store.openRuns(runIds));
  await readPlaces(pair, dice, call);
  const keys = [...events.values()].flatMap(({ event }) =>
    event.idempotencyKey == null ? [] : [{ name: event.name, key: event.idempotencyKey }],
  );
  await call("eventsOfKeys", keys, (store) => store.eventsOfKeys([...keys, { name: "none", key: "none" }]));
  await call("limitUse", FUNCTIONS, async (store) => ({ ...(await store.limitUse(FUNCTIONS)), nowMs: 0 }));
  await call("listCrons", "", (store) => store.listCrons());
  const unmoved = { limit: dice.pick([1, 3, 100]), ...(dice.chance(0.3) ? { cursor: runId } : {}) };
  await call("unmovedRuns", unmoved, (store) => store.unmovedRuns(unmoved));
  // All three, since a draw would change what every seed plays.
  for (const dueForMs of [0, 1_000, 60_000]) {
    const overdue = { functionIds: [...FUNCTIONS], dueForMs };
    await call("overdueWork", overdue, (store) => store.overdueWork(overdue));
  }
  await call("registryVersion", "", (store) => store.registryVersion());
}

/** What takes places that jobs have or want, and some that none has. */
async function readPlaces(pair: Pair, dice: Dice, call: Call): Promise<void> {
  const jobs = [...pair.model.tables.queue.values()];
  const asked = {
    slots: [...new Set(["none", ...jobs.flatMap(({ slotA, slotB }) => [slotA, slotB])])].filter(
      (slot) => slot !== null,
    ),
    throttles: jobs.flatMap(({ functionId, throttle }) => (throttle === null ? [] : [{ functionId, key: throttle }])),
    ahead: jobs.filter(() => dice.chance(0.3)).map(({ id }) => id),
    functionIds: dice.chance(0.5) ? FUNCTIONS : [],
  };
  await call("placesTaken", asked, (store) => store.placesTaken(asked));
}

const byId = <T extends { readonly head: { readonly id: string } }>(runs: readonly T[]): T[] =>
  [...runs].sort((a, b) => (a.head.id < b.head.id ? -1 : 1));
