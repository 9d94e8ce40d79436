/** How times, lengths of time and numbers are written. Pure. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `8 ms`, `1.24 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`. */
export function durationText(ms: number): string {
  const length = Math.max(0, ms);
  if (length < 1) return length === 0 ? "0 ms" : "<1 ms";
  if (length < 999.5) return `${Math.round(length)} ms`;
  if (length < 9.995 * SECOND) return `${(length / SECOND).toFixed(2)} s`;
  if (length < 59.95 * SECOND) return `${(length / SECOND).toFixed(1)} s`;
  if (length < HOUR) return twoUnits(length, MINUTE, "min", SECOND, "s");
  if (length < DAY) return twoUnits(length, HOUR, "h", MINUTE, "min");
  return twoUnits(length, DAY, "d", HOUR, "h");
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.round(ms / small) * small;
  const rest = Math.round((whole % large) / small);
  const head = `${Math.floor(whole / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** `just now`, `12 s ago`, `3 min ago`, `in 2 h`. */
export function agoText(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  if (Math.abs(ms) < 2 * SECOND) return "just now";
  const length = roughText(Math.abs(ms));
  return ms > 0 ? `${length} ago` : `in ${length}`;
}

/** Of what is to happen: `next in 12 s`, `next in a moment`; once it is late, `due 12 s ago`. */
export function expectedText(what: string, atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  if (ms <= -2 * SECOND) return `due ${roughText(-ms)} ago`;
  return `${what} ${ms < 2 * SECOND ? "in a moment" : `in ${roughText(ms)}`}`;
}

function roughText(ms: number): string {
  if (ms < 59.5 * SECOND) return `${Math.round(ms / SECOND)} s`;
  if (ms < 59.5 * MINUTE) return `${Math.round(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`;
  return `${Math.round(ms / DAY)} d`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const counts = new Intl.NumberFormat("en");

/** `12 Nov 2026, 14:03:22.118`, in the reader's time zone. */
export function instantText(ms: number): string {
  return `${date.format(ms)}, ${clock.format(ms)}.${String(Math.trunc(ms) % SECOND).padStart(3, "0")}`;
}

/** Alone in a sentence: what is in quotes is a value, what is within a longer word an id. */
const ISO_INSTANT = /(?<![\w"'`:./-])\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)(?![\w"'`/-])/g;

/** A sentence of the gateway's, which says instants in UTC, with those of the reader's time zone. */
export const withLocalTimes = (text: string): string =>
  text.replaceAll(ISO_INSTANT, (iso) => {
    const ms = Date.parse(iso);
    return Number.isNaN(ms) ? iso : instantText(ms);
  });

export const countText = (count: number): string => counts.format(count);

/** `1 run`, `2 runs`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(2)} GB`;
}
