import {
  type BackoffPolicy,
  backoffDelayMs,
  type Clock,
  HoldfastError,
  messageOf,
  type Random,
  sleep,
  type Timers,
} from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import { SDK_NAME } from "../version.ts";
import type { FetchLike, ResolvedClientOptions } from "./client-options.ts";
import { attachedSchema, type OutgoingEvent, type SchemaMap, validateData } from "./event-types.ts";

export interface SendPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly fetch: FetchLike;
}

export interface SentEvents {
  /** The ids of the events, in the order they were given. */
  readonly ids: string[];
}

const MAX_TRIES = 5;
const TRY_TIMEOUT_MS = 10_000;
const RETRY: BackoffPolicy = { baseMs: 100, factor: 2, maxMs: 5_000, jitter: 0.5 };

/**
 * Sends events in one request. Network errors, 5xx and 429 are tried again (5 tries in all) with the same seed, by
 * which the gateway knows a repeated request; any other refusal is final.
 * @throws HoldfastError `EVENT_INVALID`, `EVENT_SEND_FAILED`, `OPTION_MISSING`
 */
export async function sendEvents(
  options: ResolvedClientOptions,
  schemas: SchemaMap | undefined,
  events: readonly OutgoingEvent[],
  ports: SendPorts,
): Promise<SentEvents> {
  if (events.length === 0) return { ids: [] };
  const body = await encodeEvents(events, schemas, ports.clock);
  const request = { url: eventUrl(options), headers: headersOf(options, ports), body };
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await tryOnce(request, ports);
    if (outcome.ok) return { ids: outcome.ids };
    if (!outcome.retry || attempt >= MAX_TRIES) {
      const tries = attempt === 1 ? "" : ` (after ${attempt} tries)`;
      throw new HoldfastError(
        "EVENT_SEND_FAILED",
        `The gateway at ${new URL(options.eventBaseUrl).origin} did not take the events${tries}: ${outcome.reason}`,
        { cause: outcome.cause },
      );
    }
    await sleep(ports.timers, backoffDelayMs(RETRY, attempt, ports.random));
  }
}

async function encodeEvents(
  events: readonly OutgoingEvent[],
  schemas: SchemaMap | undefined,
  clock: Clock,
): Promise<string> {
  if (events.length > WIRE_LIMITS.maxEventsPerRequest) {
    throw invalid(
      `${events.length} events are too many for one send(): the limit is ${WIRE_LIMITS.maxEventsPerRequest}.`,
    );
  }
  const texts: string[] = [];
  for (const event of events) {
    checkEvent(event);
    const schema =
      attachedSchema(event) ?? (schemas && Object.hasOwn(schemas, event.name) ? schemas[event.name] : undefined);
    if (schema) await validateData(schema, event.data, event.name);
    texts.push(encodeEvent(event, clock));
  }
  return `[${texts.join(",")}]`;
}

function checkEvent(event: unknown): asserts event is OutgoingEvent {
  if (!isRecord(event)) throw invalid("An event must be an object with a name and data.");
  const { name, data, id, ts, v } = event;
  if (typeof name !== "string" || name === "") throw invalid("An event has no name.");
  if (name.length > WIRE_LIMITS.maxEventNameLength) {
    throw invalid(
      `The event name "${name.slice(0, 40)}..." is longer than ${WIRE_LIMITS.maxEventNameLength} characters.`,
    );
  }
  if (name.startsWith("inngest/") || name.startsWith("holdfast/")) {
    throw invalid(`The event name "${name}" is reserved: names must not start with "inngest/" or "holdfast/".`);
  }
  if (data !== undefined && data !== null && !isRecord(data))
    throw invalid(`The data of event "${name}" must be an object.`);
  if (id !== undefined && (typeof id !== "string" || id === ""))
    throw invalid(`The id of event "${name}" must be text.`);
  if (ts !== undefined && !(typeof ts === "number" && Number.isSafeInteger(ts) && ts >= 0)) {
    throw invalid(`The ts of event "${name}" must be whole milliseconds since 1970.`);
  }
  if (v !== undefined && typeof v !== "string") throw invalid(`The v of event "${name}" must be text.`);
}

function encodeEvent(event: OutgoingEvent, clock: Clock): string {
  const { name, data, id, ts, v, user, meta } = event;
  let text: string;
  try {
    text = JSON.stringify({ name, data: data ?? {}, id, ts: ts ?? clock.nowMs(), v, user, meta });
  } catch (cause) {
    throw new HoldfastError("EVENT_INVALID", `The data of event "${name}" is not JSON: ${messageOf(cause)}`, { cause });
  }
  if (text.length * 3 > WIRE_LIMITS.maxEventBytes && Buffer.byteLength(text) > WIRE_LIMITS.maxEventBytes) {
    throw invalid(
      `The event "${name}" is larger than ${WIRE_LIMITS.maxEventBytes} bytes; send a reference to large data.`,
    );
  }
  return text;
}

const invalid = (message: string): HoldfastError => new HoldfastError("EVENT_INVALID", message);

function eventUrl(options: ResolvedClientOptions): string {
  if (options.eventKey === undefined && options.mode === "cloud") {
    throw new HoldfastError(
      "OPTION_MISSING",
      "An event key is needed to send events: give `eventKey`, set HOLDFAST_EVENT_KEY, or use a development gateway (`isDev: true` or HOLDFAST_DEV=1).",
    );
  }
  const key = encodeURIComponent(options.eventKey?.reveal() ?? "NO_EVENT_KEY_SET");
  return new URL(`e/${key}`, options.eventBaseUrl).href;
}

function headersOf(options: ResolvedClientOptions, ports: SendPorts): Record<string, string> {
  const entropy = Uint8Array.from({ length: 10 }, () => Math.floor(ports.random() * 256));
  return {
    "Content-Type": "application/json",
    "User-Agent": SDK_NAME,
    "x-inngest-sdk": SDK_NAME,
    "x-inngest-event-id-seed": `${ports.clock.nowMs()},${Buffer.from(entropy).toString("base64")}`,
    ...(options.env === undefined ? {} : { "X-Inngest-Env": options.env }),
  };
}

type TryOutcome =
  | { readonly ok: true; readonly ids: string[] }
  | { readonly ok: false; readonly retry: boolean; readonly reason: string; readonly cause?: unknown };

interface SendRequest {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function tryOnce(request: SendRequest, ports: SendPorts): Promise<TryOutcome> {
  const late = new AbortController();
  const timer = ports.timers.set(TRY_TIMEOUT_MS, () => late.abort(new Error(`no answer within ${TRY_TIMEOUT_MS} ms`)));
  try {
    const { headers, body } = request;
    const response = await ports.fetch(request.url, { method: "POST", headers, body, signal: late.signal });
    return judge(response.status, await response.text());
  } catch (cause) {
    return { ok: false, retry: true, reason: networkReason(cause), cause };
  } finally {
    timer.cancel();
  }
}

/** Both the HTTP status and the body's own must be good. */
function judge(httpStatus: number, text: string): TryOutcome {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const answer = isRecord(body) ? body : {};
  const bodyStatus = typeof answer.status === "number" ? answer.status : httpStatus;
  const httpGood = httpStatus >= 200 && httpStatus < 300;
  const status = httpGood ? bodyStatus : httpStatus;
  const ids = answer.ids;
  if (httpGood && bodyStatus === 200 && answer.error === undefined && Array.isArray(ids) && ids.every(isText)) {
    return { ok: true, ids };
  }
  const said = typeof answer.error === "string" ? answer.error : text.slice(0, 200) || "an empty body";
  return { ok: false, retry: status >= 500 || status === 429, reason: `${status} ${said}` };
}

const isText = (value: unknown): value is string => typeof value === "string";

function networkReason(error: unknown): string {
  const cause = (error as { cause?: unknown } | null)?.cause;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} (${messageOf(cause)})`;
}
