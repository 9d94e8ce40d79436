import { backoffDelayMs, type Log, messageOf, sleep } from "@holdfast/core";
import type postgres from "postgres";
import type { Database } from "./database/database.ts";
import { safeMessage } from "./database/pg-errors.ts";
import type { Wake } from "./port/index.ts";

const CHANNEL = "holdfast_wake";
/** The server refuses payloads of 8000 bytes; ids may hold wide characters. */
const MAX_PAYLOAD = 2000;
const LISTEN_BACKOFF = { baseMs: 100, factor: 2, maxMs: 5000, jitter: 0.2 } as const;

export interface Wakes {
  onWake(listener: (wake: Wake) => void): () => void;
  notify(wake: Wake): void;
  close(): Promise<void>;
}

/** LISTEN on a connection of its own, opened with the first listener; NOTIFY through the pool, a few at a time as one. */
export function openWakes(database: Database, storeId: string): Wakes {
  const { timers, random, log, url } = database.options;
  const listeners = new Set<(wake: Wake) => void>();
  const closing = new AbortController();
  let listening: Promise<void> | null = null;
  let pending: Wake[] = [];
  let sending: Promise<void> | null = null;

  const tell = (wake: Wake): void => tellAll(listeners, wake, log);

  const receive = (payload: string): void => {
    const message = parseMessage(payload);
    if (!message || message.from === storeId) return;
    for (const wake of message.wakes) tell(wake);
  };

  /** One connection until it breaks. */
  const listenOnce = async (): Promise<void> => {
    let sql: postgres.Sql | null = null;
    const broken = new AbortController();
    try {
      sql = database.connect({
        name: "listener",
        onclose: () => broken.abort(),
        onnotify: (_, payload) => receive(payload),
      });
      await sql.unsafe(`LISTEN ${CHANNEL}`);
      tell({ type: "all" });
      await aborted(AbortSignal.any([broken.signal, closing.signal]));
    } finally {
      await sql?.end({ timeout: 0 });
    }
  };

  const listenForEver = async (): Promise<void> => {
    for (let attempt = 1; !closing.signal.aborted; attempt += 1) {
      try {
        await listenOnce();
        attempt = 0;
      } catch (error) {
        log("debug", `Listening for wake-ups failed: ${safeMessage(error, url)}; trying again`);
      }
      await sleep(timers, backoffDelayMs(LISTEN_BACKOFF, attempt + 1, random), closing.signal);
    }
  };

  const send = async (): Promise<void> => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (pending.length > 0) {
      const wakes = merge(pending);
      pending = [];
      const full = JSON.stringify({ from: storeId, wakes });
      const payload = full.length <= MAX_PAYLOAD ? full : JSON.stringify({ from: storeId, wakes: [{ type: "all" }] });
      try {
        await database.retrying("A wake-up could not be sent", (query) =>
          query(`SELECT pg_notify('${CHANNEL}', $1)`, [payload]),
        );
      } catch (error) {
        log("debug", `A wake-up was not sent: ${safeMessage(error, url)}`);
      }
    }
    sending = null;
  };

  return {
    onWake(listener) {
      listeners.add(listener);
      listening ??= listenForEver();
      return () => listeners.delete(listener);
    },
    notify(wake) {
      if (closing.signal.aborted) return;
      pending.push(wake);
      sending ??= send();
    },
    async close() {
      await sending;
      closing.abort();
      await listening;
    },
  };
}

function tellAll(listeners: Iterable<(wake: Wake) => void>, wake: Wake, log: Log): void {
  for (const listener of listeners) {
    try {
      listener(wake);
    } catch (error) {
      // The driver would take it for a fault of the connection.
      log("error", `A listener for wake-ups failed: ${messageOf(error)}`);
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function merge(wakes: readonly Wake[]): Wake[] {
  const functionIds = new Set<string>();
  const heldIds = new Set<string>();
  const unplacedIds = new Set<string>();
  const runIds = new Set<string>();
  const jobIds = new Set<string>();
  const others = new Map<string, Wake>();
  for (const wake of wakes) {
    if (wake.type === "jobs") for (const id of wake.functionIds) functionIds.add(id);
    else if (wake.type === "held") for (const id of wake.functionIds) heldIds.add(id);
    else if (wake.type === "unplaced") for (const id of wake.functionIds) unplacedIds.add(id);
    else if (wake.type === "removed") for (const id of wake.jobIds) jobIds.add(id);
    else if (wake.type === "ended") for (const id of wake.runIds) runIds.add(id);
    else others.set(wake.type, wake);
  }
  return [
    ...others.values(),
    ...(functionIds.size > 0 ? [{ type: "jobs" as const, functionIds: [...functionIds] }] : []),
    ...(heldIds.size > 0 ? [{ type: "held" as const, functionIds: [...heldIds] }] : []),
    ...(unplacedIds.size > 0 ? [{ type: "unplaced" as const, functionIds: [...unplacedIds] }] : []),
    ...(jobIds.size > 0 ? [{ type: "removed" as const, jobIds: [...jobIds] }] : []),
    ...(runIds.size > 0 ? [{ type: "ended" as const, runIds: [...runIds] }] : []),
  ];
}

/** Anybody with access to the database can write to the channel. */
function parseMessage(payload: string): { from: string; wakes: Wake[] } | null {
  try {
    const value = JSON.parse(payload) as { from?: unknown; wakes?: unknown };
    if (typeof value?.from !== "string" || !Array.isArray(value.wakes)) return null;
    return { from: value.from, wakes: value.wakes.flatMap(parseWake) };
  } catch {
    return null;
  }
}

function parseWake(value: unknown): Wake[] {
  const { type, functionIds, runIds, jobIds } = (value ?? {}) as Record<string, unknown>;
  const strings = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((entry): entry is string => typeof entry === "string") : [];
  if (type === "jobs" || type === "held" || type === "unplaced") return [{ type, functionIds: strings(functionIds) }];
  if (type === "removed") return [{ type, jobIds: strings(jobIds) }];
  if (type === "ended") return [{ type, runIds: strings(runIds) }];
  return type === "functions" || type === "all" ? [{ type }] : [];
}
