/** Routes that list and show events that were stored. */
import { HoldfastError } from "@holdfast/core";
import { environmentOf, plainName, qualify } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { notFound } from "./errors.ts";
import { isoTime } from "./iso-time.ts";
import { answerJson, storedJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { At, Json, Ms, orNull } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";
import { cursorIn } from "./read-cursor.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1000;

const CollectedSchema = Type.Object(
  {
    functionId: Type.String(),
    reason: Type.Enum(["DEBOUNCED", "BATCHED"]),
    message: Type.String({ description: "The reason in one sentence." }),
    untilMs: Ms,
    untilAt: At,
  },
  { title: "CollectedEvent" },
);

const EventSchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    at: At,
    receivedAt: At,
    tsMs: Ms,
    receivedMs: Ms,
    event: Json,
    runIds: Type.Array(Type.String()),
    collected: Type.Array(CollectedSchema, {
      description:
        "Functions that collect it with other events before they start a run. For a debounce, only the last event is listed.",
    }),
  },
  { title: "StoredEvent" },
);

const GET = describe({
  operationId: "getEvent",
  summary: "Shows an event, and the runs that it has started.",
  tag: "events",
  params: { id: "The event's id, as returned when it was sent." },
  answers: { 200: EventSchema },
  failures: { 404: "There is no such event." },
});

const ListedSchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    receivedAt: At,
    receivedMs: Ms,
    runIds: Type.Array(Type.String(), { description: "The first few runs that it started." }),
    runCount: Type.Integer(),
  },
  { title: "ListedEvent" },
);

const LIST = describe({
  operationId: "listEvents",
  summary: "Lists stored events, the newest first.",
  description: "If few events match, a page may have fewer than `limit`: `nextCursor` says where to go on.",
  tag: "events",
  query: Type.Object({
    name: Type.Optional(Type.String({ description: "An exact name, or the beginning of one: `shop/*`." })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
    cursor: Type.Optional(Type.String({ description: "The `nextCursor` of the page before." })),
  }),
  answers: { 200: Type.Object({ events: Type.Array(ListedSchema), nextCursor: orNull(Type.String()) }) },
});

/** Shown of those that an event has started. */
const SHOWN_RUNS = 5;

export function storedEventsApi(app: Hono, { store, dispatcher }: Pick<HttpParts, "store" | "dispatcher">): void {
  app.get("/v1/events", LIST, async (c) => {
    const { name } = c.req.query();
    const cursor = cursorIn(c.req.query("cursor"));
    const limit = Number(c.req.query("limit") ?? DEFAULT_LIMIT);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
      throw new HoldfastError("BODY_INVALID", `\`limit\` must be 1 to ${MAX_LIMIT}.`);
    }
    const environment: string = c.get("environment");
    const { events, nextCursor } = await store.listEvents({
      ...{ limit, environment },
      ...(cursor === undefined ? {} : { cursor }),
      ...(name === undefined ? {} : { name: qualify(environment, name) }),
    });
    const views = events.map(({ id, name: qualified, receivedMs, runIds }) => ({
      ...{ id, name: plainName(qualified), receivedAt: isoTime(receivedMs), receivedMs },
      ...{ runIds: runIds.slice(0, SHOWN_RUNS), runCount: runIds.length },
    }));
    return c.json({ events: views, nextCursor });
  });

  app.get("/v1/events/:id", GET, async (c) => {
    const id = c.req.param("id");
    const event = await store.getEvent(id);
    if (!event || environmentOf(event.name) !== c.get("environment")) throw notFound(`There is no event ${id}.`);
    const collected = await dispatcher.waitingRuns.whyCollected(event);
    const { tsMs, receivedMs, payloadJson, runIds } = event;
    return answerJson(c, {
      id: event.id,
      name: plainName(event.name),
      at: isoTime(tsMs),
      receivedAt: isoTime(receivedMs),
      tsMs,
      receivedMs,
      event: storedJson(payloadJson),
      runIds,
      collected: collected.map((one) => ({ ...one, untilAt: isoTime(one.untilMs) })),
    });
  });
}
