/** The route that takes events: reads and checks the request, and hands the events to the dispatcher. */
import { HoldfastError } from "@holdfast/core";
import { readLargeJson, SMALL_BYTES } from "@holdfast/engine";
import { isRecord, parseJsonBytes, WIRE_LIMITS } from "@holdfast/protocol";
import Type from "typebox";
import { GATEWAY_LIMITS } from "../config/config.ts";
import { type IdSeed, INTERNAL_FIELD, type RawEvent } from "../dispatch/index.ts";
import { type DirectRoute, jsonAnswer } from "./direct-route.ts";
import { refusedEventsBody } from "./errors.ts";
import { IgnoredFields } from "./ignored-fields.ts";
import { ofBody } from "./json-body.ts";
import type { RouteDescription } from "./openapi/describe-route.ts";
import { ErrorSchema, Json } from "./openapi/schemas.ts";
import type { HttpParts } from "./parts.ts";

export const SEED_HEADER = "x-inngest-event-id-seed";

export const OutgoingEventSchema = Type.Object(
  {
    name: Type.String({ description: "Must not begin with `inngest/` or `holdfast/`." }),
    data: Type.Optional(Type.Object({}, { additionalProperties: true })),
    id: Type.Optional(Type.String({ description: "An event with the same id within 24 hours is not stored again." })),
    ts: Type.Optional(
      Type.Integer({
        description: "Milliseconds since 1970, not seconds. If it is in the future, the event's runs start then.",
      }),
    ),
    user: Type.Optional(Json),
    v: Type.Optional(Type.String()),
    meta: Type.Optional(Json),
    traceparent: Type.Optional(
      Type.String({
        description: "The span that it is sent in (W3C Trace Context); default: the header of that name.",
      }),
    ),
    tracestate: Type.Optional(Type.String()),
  },
  { title: "OutgoingEvent" },
);

const RefusedSchema = Type.Object(
  { ...ErrorSchema.properties, ids: Type.Array(Type.String(), { maxItems: 0 }) },
  { title: "RefusedEvents" },
);

const SEND_EVENTS: RouteDescription = {
  failure: RefusedSchema,
  operationId: "sendEvents",
  summary: "Sends one event or several, and starts the runs that they trigger.",
  description:
    "If one event is invalid, none is stored. Unknown fields are ignored and named in `warnings`; an event with an unknown field and no `data` is refused. The header `x-inngest-event-id-seed` identifies the request: if it is sent again with the same value, it counts once.",
  tag: "events",
  params: { key: "The event key; any text if the gateway has no keys." },
  body: {
    contentType: "application/json",
    schema: Type.Union([OutgoingEventSchema, Type.Array(OutgoingEventSchema)]),
  },
  answers: {
    200: Type.Object({
      ids: Type.Array(Type.String(), { description: "In the order of the events." }),
      status: Type.Integer(),
      awaited: Type.Optional(
        Type.Array(Type.String(), {
          description:
            "Ids of those for whose name runs waited, or by which runs may be cancelled; whether one fits is found out next.",
        }),
      ),
      warnings: Type.Optional(
        Type.Array(Type.String(), { description: "Unknown fields of the events, which were ignored." }),
      ),
    }),
  },
};

/** Event intake: one event or an array of them. The body says how it went, as the tools in use expect. */
export function eventsRoute(parts: Pick<HttpParts, "dispatcher" | "errorDocs" | "log" | "clock">): DirectRoute {
  const { dispatcher, errorDocs } = parts;
  const ignored = new IgnoredFields(parts);
  return {
    description: SEND_EVENTS,
    path: "/e/:key",
    maxBodyBytes: GATEWAY_LIMITS.maxEventBodyBytes,
    answer: async (request) => {
      try {
        const events = await readEvents(await request.body());
        const seed = readSeed(request.header(SEED_HEADER));
        const { environment } = request;
        const trace = { traceparent: request.header("traceparent"), tracestate: request.header("tracestate") };
        const awaited: string[] = [];
        const onAwaited = (id: string): void => void awaited.push(id);
        const ids = await dispatcher.sendEvents(events, { environment, trace, onAwaited, ...(seed ? { seed } : {}) });
        const warnings = ignored.of(events);
        const more = {
          ...(awaited.length === 0 ? {} : { awaited }),
          ...(warnings === undefined ? {} : { warnings }),
        };
        return jsonAnswer({ ids, status: 200, ...more }, 200);
      } catch (error) {
        const body = refusedEventsBody(error, errorDocs);
        return jsonAnswer(body, body.status);
      }
    },
  };
}

/** @throws HoldfastError `BODY_INVALID`, `BODY_TOO_LARGE`, `EVENT_INVALID` */
export async function readEvents(body: Uint8Array): Promise<RawEvent[]> {
  const events = await ofBody(parsedEvents(body));
  for (const [index, event] of events.entries()) {
    if (!isRecord(event)) throw new HoldfastError("EVENT_INVALID", `Event ${index}: it is not an object.`);
  }
  return events as RawEvent[];
}

async function parsedEvents(body: Uint8Array): Promise<unknown[]> {
  if (body.byteLength <= SMALL_BYTES) {
    const value = parseJsonBytes(body, "The body");
    const events = Array.isArray(value) ? value : [value];
    checkCount(events);
    return events;
  }
  // A list of events is one container more around their data.
  const levels = isList(body) ? 2 : 1;
  const { value, innermost } = await readLargeJson(body, {
    what: "The body",
    levels,
    maxDepth: levels + WIRE_LIMITS.maxDataDepth,
    dropped: { of: "data", field: INTERNAL_FIELD },
  });
  const events = Array.isArray(value) ? value : [value];
  checkCount(events);
  for (const [index, text] of innermost.entries()) {
    if (text.length * 3 <= WIRE_LIMITS.maxEventBytes || Buffer.byteLength(text) <= WIRE_LIMITS.maxEventBytes) continue;
    throw new HoldfastError("BODY_TOO_LARGE", `Event ${index} is larger than ${WIRE_LIMITS.maxEventBytes} bytes.`);
  }
  return events;
}

/** JSON begins with one of four kinds of space, or its first character. */
function isList(body: Uint8Array): boolean {
  return body.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) === 0x5b;
}

function checkCount(events: readonly unknown[]): void {
  if (events.length <= WIRE_LIMITS.maxEventsPerRequest) return;
  throw new HoldfastError(
    "BODY_TOO_LARGE",
    `There are more than ${WIRE_LIMITS.maxEventsPerRequest} events in one request.`,
  );
}

/** `<milliseconds>,<base64 of 10 bytes>`; undefined when there is none or it cannot be read. */
export function readSeed(header: string | undefined): IdSeed | undefined {
  const [millis = "", text = ""] = (header ?? "").split(",");
  const atMs = Number(millis);
  const entropy = Buffer.from(text, "base64");
  if (!/^\d{1,14}$/.test(millis) || entropy.byteLength !== 10) return undefined;
  return { atMs, entropy: Uint8Array.from(entropy) };
}
