/** Statements about the ids that senders gave to events. */
import { EVENT_KEY_MS, type Needs, type WriteSet } from "@holdfast/store";
import type { Statement } from "../connection/database.ts";
import { numberArray, textArray } from "../connection/pg-values.ts";

export const EVENT_KEY_LIFETIME = `${EVENT_KEY_MS} milliseconds`;

/** A key that counts for longer is as one that came later: gateways of all versions remove it in time. */
export const HOLD_KEYS = `INSERT INTO holdfast.event_keys AS k (name, key, event_id, received_at)
SELECT name, key, event_id, now() + (kept_ms - ${EVENT_KEY_MS}) * interval '1 millisecond'
FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[]) AS n(name, key, event_id, kept_ms)
ON CONFLICT (name, key) DO UPDATE SET event_id = excluded.event_id, received_at = excluded.received_at
WHERE k.received_at < now() - interval '${EVENT_KEY_LIFETIME}'`;
/** Key by key, each a look into the index, however many there are by now (docs/decisions/0177). */
export const READ_KEYS = `SELECT k.name, k.key, k.event_id FROM unnest($1::text[], $2::text[]) AS n(name, key)
CROSS JOIN LATERAL (SELECT name, key, event_id FROM holdfast.event_keys WHERE name = n.name AND key = n.key OFFSET 0) k`;
/** Which of these events there are. */
export const READ_EVENTS = "SELECT id FROM holdfast.events WHERE id = ANY($1::text[])";

export interface KeyRow {
  readonly name: string;
  readonly key: string;
  readonly event_id: string;
}

/** Of `HOLD_KEYS`, after names and keys. */
export const holdParams = (eventKeys: Needs["eventKeys"]): string[] => [
  textArray(eventKeys.map(({ eventId }) => eventId)),
  numberArray(eventKeys.map(({ keptMs }) => keptMs)),
];

export function freeKeys(keys: WriteSet["freeKeys"]): Statement {
  return {
    text: `DELETE FROM holdfast.event_keys k USING unnest($1::text[], $2::text[], $3::text[]) AS n(name, key, event_id)
WHERE k.name = n.name AND k.key = n.key AND k.event_id = n.event_id AND k.name = ANY($1::text[]) AND k.key = ANY($2::text[])`,
    params: [
      textArray(keys.map(({ name }) => name)),
      textArray(keys.map(({ key }) => key)),
      textArray(keys.map(({ eventId }) => eventId)),
    ],
  };
}
