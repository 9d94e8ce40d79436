/**
 * When a reply or checkpoint is sent, sent again or flushed by HTTP. `ReplyDelivery` has the bytes and carries out the
 * actions; nothing here does any I/O.
 */

export interface OutboxLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
  readonly ackMs: number;
}

export interface OutboxItem {
  readonly key: string;
  readonly requestId: string;
  readonly kind: "reply" | "checkpoint";
  readonly bytes: number;
}

export type OutboxAction = { readonly do: "SEND" | "FLUSH"; readonly item: OutboxItem };

/** Sends on one link before a reply goes by HTTP. */
export const MAX_SENDS = 3;

interface Entry {
  readonly item: OutboxItem;
  /** On the present link. */
  sends: number;
  flushing: boolean;
  /** The last flush failed: wait for the deadline, however urgent. */
  resting: boolean;
  dueMs: number;
}

/**
 * Replies and checkpoints that the gateway has not acknowledged yet. It holds keys and sizes; the bytes are the
 * owner's. Its owner carries out the actions and calls `due` when `nextDueMs` has come.
 *
 * OUTBOX-1. What was added stays until it is acknowledged or withdrawn: nothing is ever dropped to make room.
 * OUTBOX-2. `full` is true exactly when count or bytes are at their limit; the acceptance of new work depends on it.
 * OUTBOX-3. With a link everything is sent at once; without one it is queued, and sent when a link comes up, oldest first.
 * OUTBOX-4. What was sent and not acknowledged within `ackMs` is sent again on a healthy link; a reply that was sent
 *     `MAX_SENDS` times on one link in vain is flushed instead.
 * OUTBOX-5. Without a link a reply is flushed once it has waited for `ackMs`, or at once when that is urgent.
 * OUTBOX-6. A checkpoint is never flushed.
 * OUTBOX-7. At most one flush per reply is under way; after a failed one the next try waits for `ackMs`.
 * OUTBOX-8. `flushAll` flushes every reply at once, whatever it waits for: the last resort when time runs out.
 */
export class Outbox {
  readonly #limits: OutboxLimits;
  /** Every delay is `ackMs`, so moving what was touched to the end keeps the map in the order of the deadlines. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;
  #linked = false;

  constructor(limits: OutboxLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get full(): boolean {
    return this.#entries.size >= this.#limits.maxCount || this.#bytes >= this.#limits.maxBytes;
  }

  add(item: OutboxItem, nowMs: number): readonly OutboxAction[] {
    if (this.#entries.has(item.key)) return [];
    const dueMs = nowMs + this.#limits.ackMs;
    const entry: Entry = { item, sends: 0, flushing: false, resting: false, dueMs };
    this.#entries.set(item.key, entry);
    this.#bytes += item.bytes;
    return this.#linked ? [this.#send(entry, nowMs)] : [];
  }

  /** Takes it out; undefined when it is not in. */
  settle(key: string): OutboxItem | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#bytes -= entry.item.bytes;
    return entry.item;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  linkUp(nowMs: number): readonly OutboxAction[] {
    this.#linked = true;
    return [...this.#entries.values()].map((entry) => {
      entry.sends = 0;
      return this.#send(entry, nowMs);
    });
  }

  linkDown(nowMs: number): void {
    this.#linked = false;
    for (const entry of [...this.#entries.values()]) this.#touch(entry, nowMs);
  }

  flushFailed(key: string, nowMs: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.flushing = false;
    entry.sends = 0;
    entry.resting = true;
    this.#touch(entry, nowMs);
  }

  /** What is due; `urgent` = do not wait for a link. */
  due(nowMs: number, urgent: boolean): readonly OutboxAction[] {
    const actions: OutboxAction[] = [];
    for (const entry of [...this.#entries.values()]) {
      const hurried = urgent && !this.#linked && isFlushable(entry) && !entry.resting;
      // In the order of the deadlines: behind the first that is not due no other is.
      if (entry.dueMs > nowMs && !hurried) {
        if (urgent) continue;
        break;
      }
      const action = this.#act(entry, nowMs);
      if (action) actions.push(action);
    }
    return actions;
  }

  flushAll(nowMs: number): readonly OutboxAction[] {
    return [...this.#entries.values()].filter(isFlushable).map((entry) => this.#flush(entry, nowMs));
  }

  nextDueMs(): number | null {
    for (const entry of this.#entries.values()) return entry.dueMs;
    return null;
  }

  #act(entry: Entry, nowMs: number): OutboxAction | undefined {
    if (this.#linked && (entry.sends < MAX_SENDS || entry.item.kind === "checkpoint")) {
      return this.#send(entry, nowMs);
    }
    if (isFlushable(entry)) return this.#flush(entry, nowMs);
    this.#touch(entry, nowMs);
    return undefined;
  }

  #flush(entry: Entry, nowMs: number): OutboxAction {
    entry.flushing = true;
    this.#touch(entry, nowMs);
    return { do: "FLUSH", item: entry.item };
  }

  #send(entry: Entry, nowMs: number): OutboxAction {
    entry.sends += 1;
    this.#touch(entry, nowMs);
    return { do: "SEND", item: entry.item };
  }

  #touch(entry: Entry, nowMs: number): void {
    entry.dueMs = nowMs + this.#limits.ackMs;
    this.#entries.delete(entry.item.key);
    this.#entries.set(entry.item.key, entry);
  }
}

function isFlushable(entry: Entry): boolean {
  return entry.item.kind === "reply" && !entry.flushing;
}
