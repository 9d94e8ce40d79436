/** Takes events from callers with the signing key, who have no event key: people at the dashboard. */
import type { Hono } from "hono";
import Type from "typebox";
import { GATEWAY_LIMITS } from "../config/config.ts";
import { limitBody } from "./bodies.ts";
import { OutgoingEventSchema, readEvents } from "./events-api.ts";
import { IgnoredFields } from "./ignored-fields.ts";
import { describe } from "./openapi/describe-route.ts";
import type { HttpParts } from "./parts.ts";

const SEND = describe({
  operationId: "sendSignedEvents",
  summary: "Sends one event or several with the signing key, and starts the runs that they trigger.",
  description: "If one event is invalid, none is stored. Programs send events with an event key: `POST /e/{key}`.",
  tag: "events",
  body: {
    contentType: "application/json",
    schema: Type.Union([OutgoingEventSchema, Type.Array(OutgoingEventSchema)]),
  },
  answers: {
    200: Type.Object({
      ids: Type.Array(Type.String(), { description: "In the order of the events." }),
      warnings: Type.Optional(Type.Array(Type.String())),
    }),
  },
});

export function signedEventsApi(app: Hono, parts: Pick<HttpParts, "dispatcher" | "log" | "clock">): void {
  const { dispatcher } = parts;
  const ignored = new IgnoredFields(parts);
  app.post("/v1/events", SEND, limitBody(GATEWAY_LIMITS.maxEventBodyBytes), async (c) => {
    const events = await readEvents(new Uint8Array(await c.req.arrayBuffer()));
    const ids = await dispatcher.sendEvents(events, { environment: c.get("environment") });
    const warnings = ignored.of(events);
    return c.json({ ids, ...(warnings === undefined ? {} : { warnings }) });
  });
}
