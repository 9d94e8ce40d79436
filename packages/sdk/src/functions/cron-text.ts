/** Checks a schedule's text where the function is defined. Pure and without a parser: the gateway has the last word. */
interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const FIELDS: readonly Field[] = [
  { name: "second", min: 0, max: 59, names: [] },
  { name: "minute", min: 0, max: 59, names: [] },
  { name: "hour", min: 0, max: 23, names: [] },
  { name: "day of the month", min: 1, max: 31, names: [] },
  { name: "month", min: 1, max: 12, names: MONTHS },
  { name: "day of the week", min: 0, max: 7, names: DAYS },
];
const NICKNAMES = /^@(yearly|annually|monthly|weekly|daily|midnight|hourly|every\s+\S+)$/i;

/**
 * Why no gateway could use a schedule; null when one may. The gateway has the last word: this finds what is plainly none where
 * the function is defined, instead of when the app connects.
 */
export function cronProblem(text: string): string | null {
  const [, zone, rest = ""] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/s.exec(text.trim()) ?? [];
  if (zone !== undefined && !isTimeZone(zone)) return `unknown time zone "${zone}"`;
  if (NICKNAMES.test(rest)) return null;
  const parts = rest.split(/\s+/).filter((part) => part !== "");
  if (parts.length !== 5 && parts.length !== 6) {
    return `it has ${parts.length} field${parts.length === 1 ? "" : "s"} instead of five: minute, hour, day of the month, month, day of the week (or six: seconds in front of these)`;
  }
  const fields = FIELDS.slice(FIELDS.length - parts.length);
  for (const [index, field] of fields.entries()) {
    const part = parts[index] as string;
    if (!part.split(",").every((item) => isItem(item, field))) {
      return `"${part}" is not a valid ${field.name} (${field.min} to ${field.max})`;
    }
  }
  return null;
}

function isItem(item: string, field: Field): boolean {
  const [, from = "", to, step] = /^([^-/]+)(?:-([^-/]+))?(?:\/(\d+))?$/.exec(item) ?? [];
  if (step !== undefined && Number(step) === 0) return false;
  if (to === undefined) return isValue(from, field) || /^[*?]$/.test(from);
  return isValue(from, field) && isValue(to, field);
}

function isValue(text: string, { min, max, names }: Field): boolean {
  if (/^\d+$/.test(text)) return Number(text) >= min && Number(text) <= max;
  // The last one, the nearest weekday, the nth weekday.
  const [, value = ""] = /^(.*?)(?:L|W|#(?:[1-5]|L))$/i.exec(text) ?? [];
  if (/(?:L|W|#.)$/i.test(text) && (value === "" || /^\d+$/.test(value) || names.includes(value.toUpperCase())))
    return true;
  return names.includes(text.toUpperCase().slice(0, 3));
}

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
