/** Words of the reasons for which runs wait: spans of time and names, for people. Pure. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** "420 ms", "12 s", "3 min", "2 h 5 min", "4 d 2 h". */
export function spanText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(Math.max(0, ms))} ms`;
  const span = Math.round(ms / SECOND_MS) * SECOND_MS;
  if (span < MINUTE_MS) return `${Math.round(span / SECOND_MS)} s`;
  if (span < 5 * MINUTE_MS) return inUnits(span, MINUTE, SECOND);
  if (span < HOUR_MS) return inUnits(span, MINUTE);
  return span < DAY_MS ? inUnits(span, HOUR, MINUTE) : inUnits(span, DAY, HOUR);
}

interface Unit {
  readonly name: string;
  readonly ms: number;
}

const SECOND: Unit = { name: "s", ms: SECOND_MS };
const MINUTE: Unit = { name: "min", ms: MINUTE_MS };
const HOUR: Unit = { name: "h", ms: HOUR_MS };
const DAY: Unit = { name: "d", ms: DAY_MS };

/** Rounded down; the smaller unit is left out where it is nothing. */
function inUnits(span: number, large: Unit, small?: Unit): string {
  const count = Math.floor(span / large.ms);
  const rest = small ? Math.floor((span - count * large.ms) / small.ms) : 0;
  return small && rest > 0 ? `${count} ${large.name} ${rest} ${small.name}` : `${count} ${large.name}`;
}

/** The furthest that a date can be from 1970; a wait of no end is that far. */
const MAX_DATE_MS = 8.64e15;

export const timeText = (ms: number): string => new Date(Math.min(ms, MAX_DATE_MS)).toISOString();

const MAX_QUOTED = 200;

/** Text of apps in a sentence of ours: one line, and not too long. */
export function quoted(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}…` : line;
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Of work that is about to leave: that the database lets it wait. */
export const slowText = ({ leasingMs }: { readonly leasingMs: number | null }): string =>
  leasingMs === null ? "" : `; the database took ${spanText(leasingMs)} to lease work`;
