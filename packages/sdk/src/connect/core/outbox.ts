/**
 * Replies and checkpoints that the gateway has not acknowledged yet. It holds keys and sizes; the bytes are the
 * owner's. Its owner carries out the actions and calls `due` when `nextDueMs` has come.
 *
 * O1. What was added stays until it is acknowledged or withdrawn: nothing is ever dropped to make room.
 * O2. `full` is true exactly when count or bytes are at their limit; whoever takes in new work looks at it.
 * O3. With a link everything is sent at once; without one it is queued, and sent when a link comes up, oldest first.
 * O4. What was sent and not acknowledged within `ackMs` is sent again on a healthy link; a reply that was sent
 *     `MAX_SENDS` times on one link in vain is flushed instead.
 * O5. Without a link a reply is flushed once it has waited for `ackMs`, or at once when that is urgent.
 * O6. A checkpoint is never flushed.
 * O7. At most one flush per reply is under way; after a failed one the next try waits for `ackMs`.
 */
export interface OutboxLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
  readonly ackMs: number;
}

export interface Parcel {
  readonly key: string;
  readonly requestId: string;
  readonly kind: "reply" | "checkpoint";
  readonly bytes: number;
}

export type OutboxAction = { readonly do: "SEND" | "FLUSH"; readonly parcel: Parcel };

/** Sends on one link before a reply goes by HTTP. */
export const MAX_SENDS = 3;

interface Entry {
  readonly parcel: Parcel;
  /** On the present link. */
  sends: number;
  flushing: boolean;
  /** The last flush failed: wait for the deadline, however urgent. */
  resting: boolean;
  dueMs: number;
}

export interface Outbox {
  readonly count: number;
  readonly bytes: number;
  readonly full: boolean;
  add(parcel: Parcel, nowMs: number): readonly OutboxAction[];
  /** Takes it out; undefined when it is not in. */
  settle(key: string): Parcel | undefined;
  has(key: string): boolean;
  linkUp(nowMs: number): readonly OutboxAction[];
  linkDown(nowMs: number): void;
  flushFailed(key: string, nowMs: number): void;
  /** What is due; `urgent` = do not wait for a link. */
  due(nowMs: number, urgent: boolean): readonly OutboxAction[];
  nextDueMs(): number | null;
  parcels(): readonly Parcel[];
}

function isFlushable(entry: Entry): boolean {
  return entry.parcel.kind === "reply" && !entry.flushing;
}

export function createOutbox(limits: OutboxLimits): Outbox {
  // Every delay is `ackMs`, so moving what was touched to the end keeps the map in the order of the deadlines.
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let linked = false;

  const touch = (entry: Entry, nowMs: number): void => {
    entry.dueMs = nowMs + limits.ackMs;
    entries.delete(entry.parcel.key);
    entries.set(entry.parcel.key, entry);
  };

  const send = (entry: Entry, nowMs: number): OutboxAction => {
    entry.sends += 1;
    touch(entry, nowMs);
    return { do: "SEND", parcel: entry.parcel };
  };

  const act = (entry: Entry, nowMs: number): OutboxAction | undefined => {
    if (linked && (entry.sends < MAX_SENDS || entry.parcel.kind === "checkpoint")) return send(entry, nowMs);
    touch(entry, nowMs);
    if (!isFlushable(entry)) return undefined;
    entry.flushing = true;
    return { do: "FLUSH", parcel: entry.parcel };
  };

  return {
    get count() {
      return entries.size;
    },
    get bytes() {
      return bytes;
    },
    get full() {
      return entries.size >= limits.maxCount || bytes >= limits.maxBytes;
    },
    add: (parcel, nowMs) => {
      if (entries.has(parcel.key)) return [];
      const entry: Entry = { parcel, sends: 0, flushing: false, resting: false, dueMs: nowMs + limits.ackMs };
      entries.set(parcel.key, entry);
      bytes += parcel.bytes;
      return linked ? [send(entry, nowMs)] : [];
    },
    settle: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      bytes -= entry.parcel.bytes;
      return entry.parcel;
    },
    has: (key) => entries.has(key),
    linkUp: (nowMs) => {
      linked = true;
      return [...entries.values()].map((entry) => {
        entry.sends = 0;
        return send(entry, nowMs);
      });
    },
    linkDown: (nowMs) => {
      linked = false;
      for (const entry of [...entries.values()]) touch(entry, nowMs);
    },
    flushFailed: (key, nowMs) => {
      const entry = entries.get(key);
      if (entry === undefined) return;
      entry.flushing = false;
      entry.sends = 0;
      entry.resting = true;
      touch(entry, nowMs);
    },
    due: (nowMs, urgent) => {
      const actions: OutboxAction[] = [];
      for (const entry of [...entries.values()]) {
        const now = entry.dueMs <= nowMs || (urgent && !linked && isFlushable(entry) && !entry.resting);
        const action = now ? act(entry, nowMs) : undefined;
        if (action) actions.push(action);
      }
      return actions;
    },
    nextDueMs: () => {
      for (const entry of entries.values()) return entry.dueMs;
      return null;
    },
    parcels: () => [...entries.values()].map((entry) => entry.parcel),
  };
}
