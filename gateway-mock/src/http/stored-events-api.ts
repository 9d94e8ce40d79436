/** The route that shows an event that was stored. */
import { environmentOf, plainName } from "@holdfast/store";
import type { Hono } from "hono";
import Type from "typebox";
import { notFound } from "./errors.ts";
import { isoTime } from "./iso-time.ts";
import { answerJson, storedJson } from "./json-answer.ts";
import { describe } from "./openapi/describe-route.ts";
import { At, Json, Ms } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

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
  },
  { title: "StoredEvent" },
);

const GET = describe({
  operationId: "getEvent",
  summary: "Shows an event, and the runs that it has started.",
  tag: "events",
  params: { id: "The event's id, as it was answered when it was sent." },
  answers: { 200: EventSchema },
  failures: { 404: "There is no such event." },
});

export function storedEventsApi(app: Hono, { store }: Pick<HttpParts, "store">): void {
  app.get("/v1/events/:id", GET, async (c) => {
    const id = c.req.param("id");
    const event = await store.getEvent(id);
    if (!event || environmentOf(event.name) !== c.get("environment")) throw notFound(`There is no event ${id}.`);
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
    });
  });
}
