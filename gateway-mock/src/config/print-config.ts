/** What `--print-config` prints: every option, its value and where that comes from; secrets are masked. Pure. */
import { isRecord } from "@holdfast/protocol";
import { type Setting, sourceText } from "./settings.ts";

export interface ShownSetting {
  readonly option: string;
  readonly value: unknown;
  readonly source: string;
}

const MASK = "********";
const SECRETS: ReadonlySet<string> = new Set(["signingKey", "signingKeyFallback", "eventKey"]);

export function shownSettings(settings: readonly Setting[]): readonly ShownSetting[] {
  return settings.map(({ name, value, source }) => ({
    option: name,
    value: maskedValue(name, value) ?? null,
    source: sourceText(source),
  }));
}

/** As a line of a table shows it. */
export function settingText({ option, value }: ShownSetting): string {
  if (value === null) return "-";
  if (typeof value === "number" && option.endsWith("Ms")) return durationText(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** In the largest unit of which there are whole ones, as it may be typed: `7d`, `25s`, `200ms`. */
export function durationText(ms: number): string {
  const [unit, sizeMs] = UNITS.find(([, size]) => ms >= size && ms % size === 0) ?? ["ms", 1];
  return `${ms / sizeMs}${unit}`;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

function maskedValue(name: string, value: unknown): unknown {
  if (value === undefined || value === "") return undefined;
  if (SECRETS.has(name)) return MASK;
  if (name === "databaseUrl") return maskedUrl(String(value));
  // Names and environments say which keys there are.
  if (name === "keys" && Array.isArray(value)) {
    return value.map((key: unknown) => (isRecord(key) ? { ...key, key: MASK } : MASK));
  }
  return value;
}

/** Without its password, which may also be a parameter. */
export function maskedUrl(text: string): string {
  if (!URL.canParse(text)) return MASK;
  const url = new URL(text);
  if (url.password !== "") url.password = MASK;
  if (url.searchParams.has("password")) url.searchParams.set("password", MASK);
  return url.href;
}
