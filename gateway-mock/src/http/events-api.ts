import { HoldfastError } from "@holdfast/core";
import { isRecord, parseJsonBytes, WIRE_LIMITS } from "@holdfast/protocol";
import type { Context, Hono } from "hono";
import { GATEWAY_LIMITS } from "../config.ts";
import type { IdSeed, RawEvent } from "../engine/index.ts";
import { limitBody } from "./bodies.ts";
import { errorBody } from "./errors.ts";
import type { HttpParts } from "./parts.ts";

const SEED_HEADER = "x-inngest-event-id-seed";

/** Event intake: one event or an array of them. The body says how it went, as the tools in use expect. */
export function eventsApi(app: Hono, parts: HttpParts): void {
  app.post("/e/:key", limitBody(GATEWAY_LIMITS.maxEventBodyBytes), async (c) => {
    try {
      const events = await readEvents(c);
      const seed = readSeed(c.req.header(SEED_HEADER));
      const ids = await parts.engine.sendEvents(events, {
        environment: c.get("environment"),
        ...(seed ? { seed } : {}),
      });
      return c.json({ ids, status: 200 });
    } catch (error) {
      return refusedEvents(c, error);
    }
  });
}

/** What senders of events read when nothing was taken. */
export function refusedEvents(c: Context, error: unknown): Response {
  const { error: message, code, status } = errorBody(error);
  return c.json({ ids: [], status, error: message, code }, status);
}

async function readEvents(c: Context): Promise<RawEvent[]> {
  const body = new Uint8Array(await c.req.arrayBuffer());
  let value: unknown;
  try {
    value = parseJsonBytes(body, "The body");
  } catch (cause) {
    const message = HoldfastError.is(cause) ? cause.message : "The body is not JSON.";
    throw new HoldfastError("BODY_INVALID", message, { cause });
  }
  const events = Array.isArray(value) ? value : [value];
  if (events.length > WIRE_LIMITS.maxEventsPerRequest) {
    throw new HoldfastError(
      "BODY_TOO_LARGE",
      `There are more than ${WIRE_LIMITS.maxEventsPerRequest} events in one request.`,
    );
  }
  if (body.byteLength > WIRE_LIMITS.maxEventBytes) checkSizes(events);
  for (const [index, event] of events.entries()) {
    if (!isRecord(event)) throw new HoldfastError("EVENT_INVALID", `Event ${index}: it is not an object.`);
  }
  return events as RawEvent[];
}

function checkSizes(events: readonly unknown[]): void {
  for (const [index, event] of events.entries()) {
    if (Buffer.byteLength(JSON.stringify(event)) <= WIRE_LIMITS.maxEventBytes) continue;
    throw new HoldfastError("BODY_TOO_LARGE", `Event ${index} is larger than ${WIRE_LIMITS.maxEventBytes} bytes.`);
  }
}

/** `<milliseconds>,<base64 of 10 bytes>`; undefined when there is none or it cannot be read. */
export function readSeed(header: string | undefined): IdSeed | undefined {
  const [millis = "", text = ""] = (header ?? "").split(",");
  const atMs = Number(millis);
  const entropy = Buffer.from(text, "base64");
  if (!/^\d{1,14}$/.test(millis) || entropy.byteLength !== 10) return undefined;
  return { atMs, entropy: Uint8Array.from(entropy) };
}
