/** Schedules: checks their text and computes ticks, in their time zones. */
import { messageOf } from "@holdfast/core";
import { Cron } from "croner";

/**
 * A schedule: five fields (or six, seconds first), in a time zone of its own or in UTC: `TZ=Europe/Paris 0 12 * * 1`.
 */
interface Schedule {
  readonly pattern: string;
  readonly zone: string;
}

const ZONED = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/;
const CACHE_SIZE = 500;
const schedules = new Map<string, Cron>();

/** Why a schedule cannot be used; null when it can. */
export function checkCron(text: string): string | null {
  const problem = shapeProblem(text);
  if (problem !== null) return `"${text}" is not a schedule: ${problem}.`;
  try {
    return scheduleOf(text).nextRun(new Date(0)) === null ? `"${text}" never occurs.` : null;
  } catch (error) {
    return `"${text}" is not a schedule: ${messageOf(error)}.`;
  }
}

/** What is said better here than by the parser. */
function shapeProblem(text: string): string | null {
  const [, , pattern = text.trim()] = ZONED.exec(text.trim()) ?? [];
  if (ZONED.test(pattern)) return "it names two time zones";
  if (/^@every\b/i.test(pattern)) return 'there is no "@every"; every five minutes is "*/5 * * * *"';
  const count = pattern.split(/\s+/).length;
  if (pattern.startsWith("@") || pattern === "" || count === 5 || count === 6) return null;
  return `it has ${count} field${count === 1 ? "" : "s"}; there are five (minute, hour, day of the month, month, day of the week), or six with seconds in front`;
}

/** The first tick after `afterMs`, or null when there is none any more. */
export function nextTickMs(text: string, afterMs: number): number | null {
  return scheduleOf(text).nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** The last tick that is not after `nowMs`; `tickMs`, which is one, when none came after it. */
export function latestTickMs(text: string, tickMs: number, nowMs: number): number {
  // Ticks are whole seconds, and only what lies before the reference is found.
  const [last] = scheduleOf(text).previousRuns(1, new Date(Math.floor(nowMs / 1000) * 1000 + 500));
  return Math.max(tickMs, last?.getTime() ?? tickMs);
}

function scheduleOf(text: string): Cron {
  const known = schedules.get(text);
  if (known) return known;
  const { pattern, zone } = parse(text);
  const made = new Cron(pattern, { timezone: zone, paused: true, mode: "5-or-6-parts" });
  if (schedules.size >= CACHE_SIZE) schedules.clear();
  schedules.set(text, made);
  return made;
}

function parse(text: string): Schedule {
  const found = ZONED.exec(text.trim());
  const zone = found?.[1] ?? "UTC";
  // Throws for a zone that does not exist.
  new Intl.DateTimeFormat("en", { timeZone: zone });
  return { zone, pattern: found?.[2] ?? text.trim() };
}
