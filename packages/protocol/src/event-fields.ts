/** The fields of an event, and paths into it as `match` has them: "data.orderId". */

/** What expressions and handlers may find in an event. */
export const EVENT_FIELDS = ["data", "user", "name", "ts", "id", "v", "meta"] as const;

/** Why `field` leads nowhere in an event. */
export const noSuchField = (field: string): string =>
  `an event has no field \`${field.slice(0, 100)}\`, only ${EVENT_FIELDS.map((one) => `\`${one}\``).join(", ")}`;

/** Why a path leads to no field of an event, to follow its place in a message; null when it may lead to one. */
export function matchPathProblem(path: string): string | null {
  const [, first = "", rest = ""] = /^\s*([^.[\s]*)(.*)$/s.exec(path) ?? [];
  if (EVENT_FIELDS.some((field) => field === first)) return null;
  const isVariable = first === "event" || first === "async";
  const own = isVariable ? rest.replace(/^\./, "") : path.trim();
  const why = isVariable ? "it is a path within both events, without the variable" : noSuchField(first);
  const isWhole = isVariable && own !== "" && matchPathProblem(own) === null;
  const written = isWhole ? own : `data.${own || "orderId"}`;
  return `is ${JSON.stringify(path.slice(0, 200))}: ${why}. Write ${JSON.stringify(written.slice(0, 200))}`;
}

/** Of 1973, in seconds, and of 1973, in milliseconds: between them nearly every number is seconds by mistake. */
const SECONDS_FROM = 1e8;
const MILLISECONDS_FROM = 1e11;

/** Why a number is not the time of an event, to follow `ts`; null when it is one. `maxAheadMs`: a year or so. */
export function timestampProblem(ts: unknown, nowMs: number, maxAheadMs: number): string | null {
  if (typeof ts !== "number" || Number.isNaN(ts) || ts < 0)
    return "must be a number that is not below 0: milliseconds since 1970";
  const isSeconds = ts >= SECONDS_FROM && ts < MILLISECONDS_FROM && nowMs >= MILLISECONDS_FROM;
  if (!isSeconds && ts <= nowMs + maxAheadMs) return null;
  const unit = isSeconds ? SECONDS : SMALL_UNITS.find(({ ms }) => isNear(ts * ms, nowMs, maxAheadMs));
  const meant = unit === undefined ? "" : `; ${ts} looks like ${unit.name}: write ${Math.round(ts * unit.ms)}`;
  return `must be milliseconds since 1970, at most a year ahead${meant}`;
}

const SECONDS = { name: "seconds", ms: 1000 };
const SMALL_UNITS = [
  { name: "microseconds", ms: 1e-3 },
  { name: "nanoseconds", ms: 1e-6 },
];

const TEN_YEARS_MS = 10 * 366 * 86_400_000;
const isNear = (ms: number, nowMs: number, maxAheadMs: number): boolean =>
  ms <= nowMs + maxAheadMs && ms >= nowMs - TEN_YEARS_MS;
