/** Which runs the list shows: kept in the address, asked of the API, given to bulk jobs. Pure. */
import { STATUSES, type Status } from "../data/types.ts";

export interface Filter {
  readonly statuses: readonly Status[];
  readonly functionId: string;
  readonly eventName: string;
  readonly eventId: string;
  /** Id of a graph; empty: of any, or of none. */
  readonly graph: string;
  /** Whose graph that is. */
  readonly tenant: string;
  /** The id that a sender gave. */
  readonly key: string;
  /** A text in what failed. */
  readonly error: string;
  /** A key of `WINDOWS`, or `RANGE`; empty: any time. */
  readonly window: string;
  /** Of a range: ISO 8601; empty: without that end. */
  readonly from: string;
  readonly to: string;
}

/** From one time to another. */
export const RANGE = "range";

export const WINDOWS: Readonly<Record<string, { readonly label: string; readonly ms: number }>> = {
  "15m": { label: "Last 15 minutes", ms: 900_000 },
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 604_800_000 },
};

export function readFilter(query: URLSearchParams): Filter {
  const wanted = (query.get("status") ?? "").toUpperCase().split(",");
  const window = query.get("time") ?? "";
  return {
    statuses: STATUSES.filter((one) => wanted.includes(one)),
    functionId: query.get("function") ?? "",
    eventName: query.get("eventName") ?? "",
    eventId: query.get("event") ?? "",
    graph: query.get("graph") ?? "",
    tenant: query.get("graph") ? (query.get("tenant") ?? "") : "",
    key: query.get("key") ?? "",
    error: query.get("error") ?? "",
    window: window === RANGE || Object.hasOwn(WINDOWS, window) ? window : "",
    from: window === RANGE ? timeIn(query.get("from")) : "",
    to: window === RANGE ? timeIn(query.get("to")) : "",
  };
}

function timeIn(text: string | null): string {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? "" : new Date(ms).toISOString();
}

/** Runs of these times are wanted; undefined: without that end. */
export function spanOf({ window, from, to }: Filter, nowMs: number): { after?: number; before?: number } {
  const last = WINDOWS[window];
  if (last) return { after: nowMs - last.ms };
  return { ...(from === "" ? {} : { after: Date.parse(from) }), ...(to === "" ? {} : { before: Date.parse(to) }) };
}

export const isFiltered = ({ statuses, ...texts }: Filter): boolean =>
  statuses.length > 0 || Object.values(texts).some((text) => text !== "");

/** Of a page of the list: `?` and what follows. Why runs wait takes the gateway ten times as long. */
export function listQuery(
  filter: Filter,
  nowMs: number,
  limit: number,
  cursor: string | null,
  isWithWaiting = true,
): string {
  const { statuses, functionId, eventName, eventId, graph, tenant, key, error } = filter;
  const query = new URLSearchParams({ limit: String(limit), ...(isWithWaiting ? { waiting: "1" } : {}) });
  if (statuses.length > 0) query.set("status", statuses.join(","));
  if (functionId !== "") query.set("function", functionId);
  if (eventName !== "") query.set("eventName", eventName);
  if (eventId !== "") query.set("event", eventId);
  if (graph !== "") query.set("graph", graph);
  if (tenant !== "") query.set("tenant", tenant);
  if (key !== "") query.set("key", key);
  if (error !== "") query.set("error", error);
  for (const [end, ms] of Object.entries(spanOf(filter, nowMs))) query.set(end, String(ms));
  if (cursor !== null) query.set("cursor", cursor);
  return `?${query}`;
}

export type BulkAction = "cancel" | "rerun" | "resume";

/** What each action can be done with, as the API has it. */
const FOR: Readonly<Record<BulkAction, readonly Status[]>> = {
  cancel: ["PENDING", "RUNNING", "WAITING"],
  rerun: ["COMPLETED", "FAILED", "CANCELLED"],
  resume: ["FAILED", "CANCELLED"],
};

/** What it takes where the filter names no status, as the API and the command have it. */
const UNLESS_NAMED: Readonly<Record<BulkAction, readonly Status[]>> = { ...FOR, rerun: ["FAILED"], resume: ["FAILED"] };

/** Of what is shown, the statuses that the action takes. */
export const takenStatuses = (action: BulkAction, { statuses }: Filter): readonly Status[] =>
  statuses.length === 0 ? UNLESS_NAMED[action] : statuses.filter((one) => FOR[action].includes(one));

/** Those that it could take as well, were they named; empty: it takes what the filter names. */
export const untakenStatuses = (action: BulkAction, { statuses }: Filter): readonly Status[] =>
  statuses.length > 0 ? [] : FOR[action].filter((one) => !UNLESS_NAMED[action].includes(one));

/** The filter of a bulk job that takes what is shown; null: nothing of that can be taken. */
export function bulkFilter(action: BulkAction, filter: Filter, nowMs: number): object | null {
  const { functionId, eventName, eventId, graph, tenant, key, error } = filter;
  const chosen = takenStatuses(action, filter);
  if (chosen.length === 0) return null;
  return {
    status: chosen,
    ...(functionId === "" ? {} : { functionId }),
    ...(eventName === "" ? {} : { eventName }),
    ...(eventId === "" ? {} : { eventId }),
    ...(graph === "" ? {} : { graph }),
    ...(tenant === "" ? {} : { tenant }),
    ...(key === "" ? {} : { key }),
    ...(error === "" ? {} : { error }),
    ...spanOf(filter, nowMs),
  };
}
