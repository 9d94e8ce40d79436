/**
 * Checks events as they come from outside, before anything is stored; large batches in several turns of the event loop.
 */
import { HoldfastError, MAX_DURATION_MS, nextTurn, unstorableIn } from "@holdfast/core";
import { JsonText } from "@holdfast/engine";
import { isRecord, timestampProblem, WIRE_LIMITS } from "@holdfast/protocol";
import type { SenderTrace } from "../spans.ts";

/** An event as it came in by HTTP; what is long in it may be a `JsonText`. */
export interface RawEvent {
  readonly name?: unknown;
  readonly data?: unknown;
  readonly id?: unknown;
  readonly ts?: unknown;
  readonly user?: unknown;
  readonly v?: unknown;
  readonly meta?: unknown;
  /** The span that it was sent in. */
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}

/** An event that may be stored. */
export interface CheckedEvent {
  readonly name: string;
  readonly data: unknown;
  readonly id?: string;
  readonly ts?: number;
  readonly user: unknown;
  readonly v?: string;
  readonly meta?: unknown;
  /** Not checked: what is no trace context is ignored. */
  readonly trace: SenderTrace;
}

const RESERVED = ["inngest/", "holdfast/"];

/** Events of one request between whose checks others have their turn. */
const CHECKED_A_TURN = 100;

/** @throws HoldfastError `EVENT_INVALID` */
export async function checkEvents(events: readonly unknown[], nowMs: number): Promise<CheckedEvent[]> {
  const checked: CheckedEvent[] = [];
  for (const [index, event] of events.entries()) {
    if (index > 0 && index % CHECKED_A_TURN === 0) await nextTurn();
    checked.push(checkEvent(event, index, nowMs));
  }
  return checked;
}

function checkEvent(event: unknown, index: number, nowMs: number): CheckedEvent {
  if (!isRecord(event)) return refuse(index, "it is not an object.");
  const { name, data, id, ts, user, v, meta, traceparent, tracestate } = event;
  if (typeof name !== "string" || name.trim() === "") return refuse(index, "`name` must be a non-empty string.");
  if (name.length > WIRE_LIMITS.maxEventNameLength) {
    return refuse(index, `\`name\` is longer than ${WIRE_LIMITS.maxEventNameLength} characters.`);
  }
  const inName = unstorableIn(name);
  if (inName !== null) return refuse(index, `\`name\` contains ${inName}.`);
  if (RESERVED.some((prefix) => name.startsWith(prefix)))
    return refuse(index, `names starting with "${name.split("/")[0]}/" are reserved.`);
  if (data !== undefined && data !== null && !isDataObject(data)) return refuse(index, "`data` must be an object.");
  if (id !== undefined && id !== null && (typeof id !== "string" || id.length > 256))
    return refuse(index, "`id` must be a string of at most 256 characters.");
  const inId = typeof id === "string" ? unstorableIn(id) : null;
  if (inId !== null) return refuse(index, `\`id\` contains ${inId}.`);
  const wrongTs = ts === undefined || ts === null ? null : timestampProblem(ts, nowMs, MAX_DURATION_MS);
  if (wrongTs !== null) return refuse(index, `\`ts\` ${wrongTs}.`);
  if (data === undefined) checkMisnamed(event, index);
  // A run that it starts could not be given to a worker.
  if (isTooDeep(data) || isTooDeep(user) || isTooDeep(meta)) {
    const field = isTooDeep(data) ? "data" : isTooDeep(user) ? "user" : "meta";
    return refuse(index, `\`${field}\` nests deeper than ${WIRE_LIMITS.maxDataDepth} levels.`);
  }
  const checked: { -readonly [Field in keyof CheckedEvent]: CheckedEvent[Field] } = {
    name,
    data: isDataObject(data) ? withoutInternal(data) : {},
    user: isDataObject(user) ? user : {},
    trace: { traceparent, tracestate },
  };
  if (typeof id === "string" && id !== "") checked.id = id;
  if (typeof ts === "number" && ts > 0) checked.ts = Math.round(ts);
  if (typeof v === "string") checked.v = v;
  if (meta !== undefined) checked.meta = meta;
  return checked;
}

function refuse(index: number, why: string): never {
  throw new HoldfastError("EVENT_INVALID", `Event ${index}: ${why}`);
}

const FIELDS = ["name", "data", "id", "ts", "user", "v", "meta", "traceparent", "tracestate"];
const KNOWN = new Set(FIELDS);
const NAMED = FIELDS.slice(0, -2).map((field) => `\`${field}\``);

/** The first field of an event that is none; it is ignored, as Inngest's service does. */
export const unknownField = (event: object): string | undefined => Object.keys(event).find((key) => !KNOWN.has(key));

/** Without `data` what is in another field was surely meant to be there. */
function checkMisnamed(event: object, index: number): void {
  const field = unknownField(event);
  if (field === undefined) return;
  const given = `\`${field.slice(0, 100)}\``;
  refuse(index, `it has no \`data\`, and ${given} is no field of an event: put what functions are to get in \`data\`.`);
}

/** What is said of a field that is ignored. */
export const ignoredField = (index: number, field: string): string =>
  `Event ${index}: \`${field.slice(0, 100)}\` is no field of an event and was ignored; there are ${NAMED.join(", ")}. What functions are to get goes in \`data\`.`;

export const isDataObject = (value: unknown): value is Record<string, unknown> | JsonText =>
  value instanceof JsonText ? value.isObject : isRecord(value);

const isTooDeep = (part: unknown): boolean => nestsDeeperThan(part, WIRE_LIMITS.maxDataDepth);

export function nestsDeeperThan(value: unknown, levels: number): boolean {
  // The reader of a long text has already checked it.
  if (typeof value !== "object" || value === null || value instanceof JsonText) return false;
  return levels === 0 || Object.values(value).some((each) => nestsDeeperThan(each, levels - 1));
}

/** Of the data of an event: what only the engine says. */
export const INTERNAL_FIELD = "_inngest";

/** A long text is read without it. */
export function withoutInternal(data: unknown): unknown {
  if (data instanceof JsonText || !isRecord(data) || !(INTERNAL_FIELD in data)) return data;
  const { [INTERNAL_FIELD]: _, ...rest } = data;
  return rest;
}
