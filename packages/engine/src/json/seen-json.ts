/** Events as expressions see them: large parts are parsed when they are looked at, within a limit of values. */
import { HoldfastError, nextTurn } from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import { JsonText } from "./json-text.ts";
import { LargeJsonReader, MAX_MEMBERS } from "./large-json.ts";
import { CHARS_A_TURN, SMALL_BYTES } from "./read-json.ts";

/** What expressions may look at of one event; counted when they do. */
export const MAX_SEEN_VALUES = 10_000;
/** Two containers around the data of an event. */
const OPTIONS = { what: "The event", levels: 1, maxDepth: WIRE_LIMITS.maxJsonDepth } as const;

const EAGER_VALUES = 10;
const EAGER_CHARS = 1_000;

interface Allowed {
  values: number;
}

/**
 * An event as expressions see it. Where it is large its fields, and those of its data, are built when an expression
 * reads them, and refused when they are too many values: an expression that asks for one field takes no longer than
 * with a small event.
 */
export function seenEvent(event: unknown): unknown {
  if (!isRecord(event) || !Object.values(event).some((field) => field instanceof JsonText)) return event;
  const allowed = { values: MAX_SEEN_VALUES };
  const seen: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(event)) {
    if (field instanceof JsonText)
      lazily(seen, key, allowed, field.members ? 0 : field.values, () => built(field, allowed));
    else seen[key] = field;
  }
  return seen;
}

/** The same for text that is stored, so that it is known to be JSON. */
export function seenText(text: string): unknown {
  if (text.length <= SMALL_BYTES) return JSON.parse(text);
  const reader = new LargeJsonReader(text, OPTIONS);
  reader.scan(text.length);
  return seenEvent(reader.value);
}

/** The same, in turns. */
export async function seenTextInTurns(text: string): Promise<unknown> {
  if (text.length <= SMALL_BYTES) return JSON.parse(text);
  const reader = new LargeJsonReader(text, OPTIONS);
  while (!reader.scan(CHARS_A_TURN)) await nextTurn();
  return seenEvent(reader.value);
}

function built({ text, members }: JsonText, allowed: Allowed): unknown {
  if (!members) return JSON.parse(text);
  const object: Record<string, unknown> = {};
  for (const member of members) {
    const key = JSON.parse(member.key) as string;
    const make = (): unknown => JSON.parse(member.text);
    // Most are small, and building such a one takes less than putting it off.
    if (member.values <= EAGER_VALUES && member.text.length <= EAGER_CHARS && member.values <= allowed.values) {
      allowed.values -= member.values;
      put(object, key, make());
    } else lazily(object, key, allowed, member.values, make);
  }
  return object;
}

/** Once it is read it is as any other field. */
function lazily(into: object, key: string, allowed: Allowed, values: number, make: () => unknown): void {
  const get = (): unknown => {
    if (values > allowed.values) throw tooMany(key, values);
    allowed.values -= values;
    const value = make();
    Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
    return value;
  };
  Object.defineProperty(into, key, { get, enumerable: true, configurable: true });
}

function put(into: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__" && !Object.hasOwn(into, key)) into[key] = value;
  else Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
}

function tooMany(key: string, values: number): HoldfastError {
  const limit = `expressions may look at ${MAX_SEEN_VALUES} values of a large event, and at objects of ${MAX_MEMBERS} fields`;
  return new HoldfastError("EXPRESSION_FAILED", `the field \`${key.slice(0, 100)}\` holds ${values} values; ${limit}`);
}
