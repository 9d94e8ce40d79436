/** What the status area of `dev` says: who is connected, how many runs do what, and what has waited longest. Pure. */
import type { Overview } from "../../gateway-overview.ts";
import { oneLine } from "../table.ts";

/** Null: the database does not answer. */
export type Seen = Overview | null;

const COLOURS = { grey: 90, green: 32, yellow: 33, red: 31 } as const;

/** At most two lines, of at most so many characters each. */
export function statusLines(
  seen: Seen,
  { columns, colours }: { columns: number; colours: boolean },
): readonly string[] {
  const paint = (colour: keyof typeof COLOURS, text: string): string =>
    colours ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text;
  const width = Math.max(0, columns - 1);
  if (seen === null) return [paint("red", cut("! the database does not answer", width))];
  const { oldest } = seen;
  const summary = cut(`${marker(seen)} ${[appsText(seen), ...countsOf(seen)].join(" · ")}`, width);
  const [before, after] = splitAt(summary, seen.failed > 0 ? summary.lastIndexOf(" · ") + 3 : summary.length);
  const mark = paint(seen.workers.size === 0 ? "yellow" : "green", before.slice(0, 1));
  const lines = [mark + paint("grey", before.slice(1)) + (after === "" ? "" : paint("red", after))];
  if (oldest)
    lines.push(paint("grey", cut(`  ${oldest.functionId} for ${ageText(oldest.ageMs)}: ${oldest.why}`, width)));
  return lines;
}

const splitAt = (text: string, index: number): readonly [string, string] => [text.slice(0, index), text.slice(index)];

/** As coarse as can be, so that it seldom changes. */
function ageText(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

const marker = ({ workers }: Overview): string => (workers.size === 0 ? "○" : "●");

function appsText({ workers }: Overview): string {
  if (workers.size === 0) return "no app is connected";
  const apps = [...workers].sort(([a], [b]) => (a < b ? -1 : 1));
  return apps.map(([app, count]) => (count === 1 ? app : `${app} (${count} workers)`)).join(", ");
}

function countsOf({ running, waiting, isMore, completed, failed }: Overview): readonly string[] {
  const counts = [`${running} running`, `${waiting}${isMore ? " or more" : ""} waiting`, `${completed} completed`];
  return failed > 0 ? [...counts, `${failed} failed`] : counts;
}

function cut(text: string, width: number): string {
  const characters = [...oneLine(text)];
  // Indentation is meant.
  const indent = /^ */.exec(text)?.[0] ?? "";
  const all = [...indent, ...characters];
  return all.length <= width ? all.join("") : `${all.slice(0, Math.max(0, width - 1)).join("")}…`;
}
