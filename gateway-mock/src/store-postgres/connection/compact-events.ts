/** The texts of events, as their rows have them: what columns say is a sign (`compact-text.ts`). */
import { compactText, isPlainName, type Piece, wholeText } from "./compact-text.ts";

/** Columns of an event's row. */
export interface EventColumns {
  readonly id: string;
  readonly name: string;
  readonly tsMs: number;
}

/** Never changed: rows hold them. Migration 026 has the same. */
const BEGIN = "\u0001";
const ID = "\u0002";
const TIME = "\u0003";
const NO_USER = "\u0004";
const NO_USER_TEXT = ',"user":{}}';
/** Later than that, Postgres' times are not exact to the millisecond in all ways to ask for them. */
const MAX_MS = 2 ** 42;

const idText = (id: string): string => `{"id":"${id}","name":"`;
const beginText = ({ id, name }: EventColumns): string => `${idText(id)}${name}","data":`;
const timeText = (tsMs: number): string => `,"ts":${tsMs}`;

/** @throws TypeError where it is no JSON and would be read as another text */
export function compactEvent(json: string, event: EventColumns): string {
  const { id, name, tsMs } = event;
  const pieces: Piece[] = [];
  if (isPlainName(id)) {
    const begin = beginText(event);
    if (isPlainName(name) && json.startsWith(begin)) pieces.push({ sign: BEGIN, text: begin });
    else pieces.push({ sign: ID, text: idText(id) });
  }
  if (Number.isInteger(tsMs) && tsMs >= 0 && tsMs < MAX_MS) pieces.push({ sign: TIME, text: timeText(tsMs) });
  pieces.push({ sign: NO_USER, text: NO_USER_TEXT });
  return compactText(json, pieces);
}

export function wholeEvent(text: string, event: EventColumns): string {
  return wholeText(text, (sign) => {
    switch (sign) {
      case BEGIN:
        return beginText(event);
      case ID:
        return idText(event.id);
      case TIME:
        return timeText(event.tsMs);
      case NO_USER:
        return NO_USER_TEXT;
      default:
        return undefined;
    }
  });
}
