/**
 * Owns the listening connection: announces wakes to other stores and hands theirs on, after a lost connection with
 * "something may have been missed".
 */
import { backoffDelayMs, type Log, messageOf, sleep } from "@holdfast/core";
import type { Wake } from "@holdfast/store";
import type postgres from "postgres";
import type { Database } from "./connection/database.ts";
import { ConnectionLost, safeMessage } from "./connection/pg-errors.ts";
import { textArray } from "./connection/pg-values.ts";
import { queryOn } from "./connection/query.ts";
import { readServerIdentity } from "./connection/server-identity.ts";

import { readWakeMessage, wakeMessages } from "./wake-messages.ts";

const CHANNEL = "holdfast_wake";
const LISTEN_BACKOFF = { baseMs: 100, factor: 2, maxMs: 5000, jitter: 0.2 } as const;

export interface Wakes {
  onWake(listener: (wake: Wake) => void): () => void;
  notify(wake: Wake): void;
  close(): Promise<void>;
}

/**
 * LISTEN on a connection of its own, opened with the first listener; NOTIFY through the pool, a few at a time as one.
 */
export function openWakes(database: Database, storeId: string): Wakes {
  const { timers, random, log, url } = database.options;
  const listeners = new Set<(wake: Wake) => void>();
  const closing = new AbortController();
  let listening: Promise<void> | null = null;
  let pending: Wake[] = [];
  let sending: Promise<void> | null = null;
  let dropListener = (): void => {};
  // The others speak at the server that is written to.
  database.server.onMove(() => dropListener());

  const notifyAll = (wake: Wake): void => notifyListeners(listeners, wake, log);

  const receive = (payload: string): void => {
    const message = readWakeMessage(payload);
    if (!message || message.from === storeId) return;
    for (const wake of message.wakes) notifyAll(wake);
  };

  /** One connection until it breaks. */
  const listenOnce = async (): Promise<void> => {
    let sql: postgres.Sql | null = null;
    const broken = new AbortController();
    dropListener = () => broken.abort();
    try {
      sql = database.connect({
        name: "listener",
        onclose: () => broken.abort(),
        onnotify: (_, payload) => receive(payload),
      });
      await sql.unsafe(`LISTEN ${CHANNEL}`);
      const server = await readServerIdentity(queryOn(sql));
      if (database.server.relationOf(server) !== "same") throw new ConnectionLost(database.server.refusalOf(server));
      notifyAll({ type: "ANYTHING" });
      await firstAborted(broken.signal, closing.signal);
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
        log("debug", `Listening for wake-ups failed: ${safeMessage(error, url)}; retrying`);
      }
      await sleep(timers, backoffDelayMs(LISTEN_BACKOFF, attempt + 1, random), closing.signal);
    }
  };

  const send = async (): Promise<void> => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (pending.length > 0) {
      const messages = textArray(wakeMessages(storeId, pending));
      pending = [];
      try {
        await database.retrying("A wake-up could not be sent", (query) =>
          query(`SELECT pg_notify('${CHANNEL}', m) FROM unnest($1::text[]) AS m`, [messages]),
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

function notifyListeners(listeners: Iterable<(wake: Wake) => void>, wake: Wake, log: Log): void {
  for (const listener of listeners) {
    try {
      listener(wake);
    } catch (error) {
      // The driver would take it for a fault of the connection.
      log("error", `A listener for wake-ups failed: ${messageOf(error)}`);
    }
  }
}

/** No `AbortSignal.any`: Node keeps one that is listened to until it fires, here one for each lost connection. */
function firstAborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    if (signals.some((signal) => signal.aborted)) return resolve();
    for (const signal of signals) signal.addEventListener("abort", end);
  });
}
