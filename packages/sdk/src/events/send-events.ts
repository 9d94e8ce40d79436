/**
 * Sends events: checks and encodes them, names the request by a seed so that a repeated one counts once.
 * `send-http.ts` makes the call and repeats it.
 */
import { type Clock, describeValue, HoldfastError, MAX_DURATION_MS, messageOf, unstorableIn } from "@holdfast/core";
import { EVENT_LIMITS, isRecord, NO_EVENT_KEY } from "@holdfast/protocol";
import { traceFields } from "../telemetry/tracing.ts";
import { attachedSchema, isStandardSchema, type OutgoingEvent, type SchemaMap, validateData } from "./event-types.ts";
import { eventBase, type GatewayAccess } from "./gateway-access.ts";
import { checkDepth, jsonProblem } from "./json-depth.ts";
import { lossOfData } from "./json-loss.ts";
import {
  callFailed,
  callGateway,
  type Judgement,
  jsonRecord,
  patienceOf,
  refused,
  SDK_HEADERS,
  type SendPorts,
} from "./send-http.ts";
import type { StandardSchema } from "./standard-schema.ts";

export interface SentEvents {
  /** The ids of the events, in the order they were given. */
  readonly ids: string[];
}

/**
 * Sends events in one request. Network errors, 5xx and 429 are tried again (5 tries at least, and for 10 s, in dev mode
 * 5 tries) with the same seed, by which the gateway knows a repeated request; any other refusal is final.
 * @throws HoldfastError `EVENT_INVALID`, `EVENT_SEND_FAILED`, `OPTION_MISSING`; `ENVIRONMENT_REFUSED` for a key of another
 * environment
 */
export async function sendEvents(
  options: GatewayAccess,
  schemas: SchemaMap | undefined,
  events: readonly OutgoingEvent[],
  ports: SendPorts,
): Promise<SentEvents> {
  if (events.length === 0) return { ids: [] };
  const body = await encodeEvents(events, schemas, ports.clock, traceFields());
  const request = { url: eventUrl(options), headers: headersOf(options, ports), body, patienceMs: patienceOf(options) };
  const answer = await callGateway(request, ports, judge);
  if (answer.ok) return { ids: answer.value };
  const code = answer.code === "ENVIRONMENT_REFUSED" ? answer.code : "EVENT_SEND_FAILED";
  throw callFailed(code, request.url, "did not accept the events", answer);
}

/**
 * One event or several, as a list of our own.
 * @throws HoldfastError `EVENT_INVALID`
 */
export function eventList(given: unknown): readonly OutgoingEvent[] {
  try {
    return (Array.isArray(given) ? [...given] : [given]) as readonly OutgoingEvent[];
  } catch (cause) {
    throw new HoldfastError("EVENT_INVALID", `The events cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Events as they are sent: checked, as the JSON text of a list.
 * @throws HoldfastError `EVENT_INVALID`
 */
export async function encodeEvents(
  events: readonly OutgoingEvent[],
  schemas: SchemaMap | undefined,
  clock: Clock,
  trace: object,
): Promise<string> {
  if (events.length > EVENT_LIMITS.maxEventsPerRequest) {
    throw invalid(
      `${events.length} events are too many for one send(): the limit is ${EVENT_LIMITS.maxEventsPerRequest}.`,
    );
  }
  const texts: string[] = [];
  for (const given of events) {
    const { event, attached } = readEvent(given, clock.nowMs());
    const { name, data } = event;
    const schema = attached ?? (schemas && Object.hasOwn(schemas, name) ? schemas[name] : undefined);
    if (schema) await validateData(schema, data, name);
    texts.push(encodeEvent(event, trace));
  }
  return `[${texts.join(",")}]`;
}

const EVENT_KEYS: readonly string[] = ["name", "data", "id", "ts", "v", "user", "meta"];

/** The event's fields, each read once: a getter or a proxy may answer otherwise, or throw. */
function readEvent(given: unknown, nowMs: number): { event: OutgoingEvent; attached: StandardSchema | undefined } {
  try {
    if (!isRecord(given)) throw invalid("An event must be an object with a name and data.");
    const unknown = Object.keys(given).find((key) => !EVENT_KEYS.includes(key));
    if (unknown !== undefined) {
      throw invalid(
        `Unknown event field ${describeValue(unknown)}; valid fields: ${EVENT_KEYS.join(", ")}. Put data for functions in \`data\`.`,
      );
    }
    const event: Record<string, unknown> = { ...given };
    checkEvent(event, nowMs);
    const attached = attachedSchema(given);
    return { event, attached: isStandardSchema(attached) ? attached : undefined };
  } catch (error) {
    if (HoldfastError.is(error)) throw error;
    throw new HoldfastError("EVENT_INVALID", `An event cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function checkEvent(
  event: Record<string, unknown>,
  nowMs: number,
): asserts event is Record<string, unknown> & OutgoingEvent {
  const { name, data, id, ts, v } = event;
  if (typeof name !== "string" || name === "") {
    throw invalid(`The name of an event must be a non-empty string, not ${describeValue(name)}.`);
  }
  if (name.length > EVENT_LIMITS.maxEventNameLength) {
    throw invalid(
      `The event name "${name.slice(0, 40)}..." is longer than ${EVENT_LIMITS.maxEventNameLength} characters.`,
    );
  }
  const inName = unstorableIn(name);
  if (inName !== null) throw invalid(`The event name ${JSON.stringify(name)} contains ${inName}.`);
  if (/^(inngest|holdfast)\//.test(name)) {
    throw invalid(`The event name "${name}" is reserved: names must not start with "inngest/" or "holdfast/".`);
  }
  const wrong = (field: string, problem: string): HoldfastError =>
    invalid(`The ${field} of event "${name}" ${problem}.`);
  if (data !== undefined && data !== null && !isRecord(data)) throw wrong("data", "must be an object");
  if (id !== undefined && (typeof id !== "string" || id === "")) throw wrong("id", "must be a string");
  const inId = unstorableIn(id ?? "");
  if (inId !== null) throw wrong("id", `contains ${inId}`);
  if (ts !== undefined && !isTimestamp(ts, nowMs)) {
    throw wrong("ts", "must be an integer: milliseconds since 1970, at most a year ahead");
  }
  if (v !== undefined && typeof v !== "string") throw wrong("v", "must be a string");
}

/** How far ahead: as long as durations may be, and a day for clocks that differ. */
const MAX_AHEAD_MS = MAX_DURATION_MS + 86_400_000;

/** Times in seconds are refused by the gateway, which says what to write. */
const isTimestamp = (ts: unknown, nowMs: number): boolean =>
  typeof ts === "number" && Number.isInteger(ts) && ts >= 0 && ts <= nowMs + MAX_AHEAD_MS;

/**
 * Without a `ts` the gateway gives it one. This process's clock may be ahead of the gateway's, which would take that for
 * a wish to start later.
 */
function encodeEvent(event: OutgoingEvent, trace: object): string {
  const { name, data, id, ts, v, user, meta } = event;
  let text: string;
  try {
    text = JSON.stringify({ name, data: data ?? {}, id, ts, v, user, meta, ...trace });
  } catch (cause) {
    const why = jsonProblem({ data, user, meta }, cause, 1);
    throw new HoldfastError("EVENT_INVALID", `The data of event "${name}" is not JSON: ${why}`, { cause });
  }
  // The event is a level itself. What nests deeper is not looked through.
  checkDepth(text, { data, user, meta }, `The event "${name}"`, "EVENT_INVALID", 1);
  checkData(data, `The data of event "${name}"`);
  checkSize(text, `The event "${name}"`);
  return text;
}

/**
 * @param what for the message
 * @throws HoldfastError `EVENT_INVALID`
 */
export function checkSize(text: string, what: string): void {
  const { maxEventBytes } = EVENT_LIMITS;
  if (text.length * 3 <= maxEventBytes || new TextEncoder().encode(text).length <= maxEventBytes) return;
  throw invalid(`${what} is larger than ${maxEventBytes} bytes; send a reference to large data.`);
}

/**
 * Data of which JSON has made text: the text must be that of an object, with all that is in it.
 * @param what for the message
 * @throws HoldfastError `EVENT_INVALID`
 */
export function checkData(data: unknown, what: string): void {
  let problem: string | undefined;
  try {
    const { toJSON } = Object(data ?? {}) as { readonly toJSON?: unknown };
    const isObject = typeof toJSON !== "function" || isRecord(toJSON.call(data, "data"));
    problem = isObject ? lossOfData(data) : "Its `toJSON` does not give an object.";
  } catch (cause) {
    throw new HoldfastError("EVENT_INVALID", `${what} cannot be read: ${messageOf(cause)}`, { cause });
  }
  if (problem !== undefined) throw invalid(`${what} cannot be sent as JSON. ${problem}`);
}

const invalid = (message: string): HoldfastError => new HoldfastError("EVENT_INVALID", message);

function eventUrl(options: GatewayAccess): string {
  const base = eventBase(options);
  if (options.eventKey === undefined && options.mode === "cloud") {
    throw new HoldfastError(
      "OPTION_MISSING",
      "An event key is required to send events: pass `eventKey`, set HOLDFAST_EVENT_KEY, or use a development gateway (`isDev: true` or HOLDFAST_DEV=1).",
    );
  }
  const key = encodeURIComponent(options.eventKey?.reveal() ?? NO_EVENT_KEY);
  return new URL(`e/${key}`, base).href;
}

/** Names a request, so that the gateway knows it when it is repeated. */
export function seedHeader(ports: Pick<SendPorts, "clock" | "random">): string {
  const entropy = Uint8Array.from({ length: 10 }, () => Math.floor(ports.random() * 256));
  return `${ports.clock.nowMs()},${btoa(String.fromCharCode(...entropy))}`;
}

function headersOf(options: GatewayAccess, ports: SendPorts): Record<string, string> {
  return {
    "Content-Type": "application/json",
    ...SDK_HEADERS,
    "x-inngest-event-id-seed": seedHeader(ports),
    ...(options.env === undefined ? {} : { "X-Inngest-Env": options.env }),
  };
}

/** Both the HTTP status and the body's own must be good. */
function judge(httpStatus: number, text: string): Judgement<string[]> {
  const answer = jsonRecord(text);
  const { ids, error, status: bodyStatus } = answer;
  const isGood = httpStatus >= 200 && httpStatus < 300;
  const status = isGood && typeof bodyStatus === "number" ? bodyStatus : httpStatus;
  if (isGood && status === 200 && error === undefined && Array.isArray(ids) && ids.every(isText)) {
    return { ok: true, value: ids };
  }
  return refused(status, text, answer);
}

const isText = (value: unknown): value is string => typeof value === "string";
