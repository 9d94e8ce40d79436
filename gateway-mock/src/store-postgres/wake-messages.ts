/** Wakes as texts of NOTIFY: merged, split to fit its limit, and read again. Pure. */
import { unreachable } from "@holdfast/core";
import type { Wake } from "@holdfast/store";

/** The server refuses payloads of 8000 bytes; ids may hold wide characters. */
const MAX_PAYLOAD = 2000;
/** What would take more messages than this is sent as "something may have been missed". */
const MAX_MESSAGES = 32;

/** What a wake-up is about: ids, or nothing in particular. */
function idsOf(wake: Wake): readonly string[] | null {
  switch (wake.type) {
    case "JOBS_DUE":
    case "JOBS_HELD":
    case "VERSIONS_CHANGED":
      return wake.functionIds;
    case "JOBS_REMOVED":
      return wake.jobIds;
    case "RUNS_ENDED":
    case "RUNS_WATCHED":
    case "WAITS_ENDED":
      return wake.runIds;
    case "JOBS_REDISPATCHED":
      return wake.requestIds;
    case "REGISTRY_CHANGED":
    case "ANYTHING":
      return null;
    default:
      return unreachable(wake);
  }
}

function wakeOf(type: unknown, ids: readonly string[]): Wake | null {
  switch (type) {
    case "JOBS_DUE":
    case "JOBS_HELD":
    case "VERSIONS_CHANGED":
      return { type, functionIds: ids };
    case "JOBS_REMOVED":
      return { type, jobIds: ids };
    case "RUNS_ENDED":
    case "RUNS_WATCHED":
    case "WAITS_ENDED":
      return { type, runIds: ids };
    case "JOBS_REDISPATCHED":
      return { type, requestIds: ids };
    case "REGISTRY_CHANGED":
    case "ANYTHING":
      return { type };
    default:
      return null;
  }
}

/** What is sent for these: one message where it fits, else several. */
export function wakeMessages(from: string, wakes: readonly Wake[]): string[] {
  const write = (some: readonly Wake[]): string => JSON.stringify({ from, wakes: some });
  const merged = merge(wakes);
  const whole = write(merged);
  if (whole.length <= MAX_PAYLOAD) return [whole];
  const messages: string[] = [];
  const split = (type: Wake["type"], ids: readonly string[]): void => {
    const wake = wakeOf(type, ids);
    if (messages.length > MAX_MESSAGES || wake === null) return;
    const message = write([wake]);
    if (message.length <= MAX_PAYLOAD || ids.length <= 1) {
      messages.push(message.length <= MAX_PAYLOAD ? message : write([{ type: "ANYTHING" }]));
      return;
    }
    const half = ids.length >> 1;
    split(type, ids.slice(0, half));
    split(type, ids.slice(half));
  };
  for (const wake of merged) split(wake.type, idsOf(wake) ?? []);
  return messages.length > MAX_MESSAGES ? [write([{ type: "ANYTHING" }])] : messages;
}

/** One of each kind. */
function merge(wakes: readonly Wake[]): Wake[] {
  const byType = new Map<Wake["type"], Set<string>>();
  for (const wake of wakes) {
    const ids = byType.get(wake.type) ?? new Set<string>();
    for (const id of idsOf(wake) ?? []) ids.add(id);
    byType.set(wake.type, ids);
  }
  return [...byType].flatMap(([type, ids]) => wakeOf(type, [...ids]) ?? []);
}

/** Null when it is none of ours: any client of the database can write to the channel. */
export function readWakeMessage(payload: string): { readonly from: string; readonly wakes: readonly Wake[] } | null {
  try {
    const value = JSON.parse(payload) as { from?: unknown; wakes?: unknown };
    if (typeof value?.from !== "string" || !Array.isArray(value.wakes)) return null;
    return { from: value.from, wakes: value.wakes.flatMap(readWake) };
  } catch {
    return null;
  }
}

function readWake(value: unknown): Wake[] {
  const { type, functionIds, runIds, jobIds, requestIds } = (value ?? {}) as Record<string, unknown>;
  const list = [functionIds, runIds, jobIds, requestIds].find(Array.isArray) ?? [];
  const ids = list.filter((entry): entry is string => typeof entry === "string");
  const wake = wakeOf(type, ids);
  return wake === null ? [] : [wake];
}
