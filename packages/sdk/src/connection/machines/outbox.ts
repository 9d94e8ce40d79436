/**
 * When a reply or checkpoint is sent, sent again or flushed by HTTP. `ReplyDelivery` has the bytes and carries out the
 * actions; nothing here does any I/O.
 */

export interface OutboxLimits {
  readonly maxCount: number;
  readonly maxBytes: number;
  readonly ackMs: number;
  /** Of what has been sent and is not acknowledged. */
  readonly maxSentBytes: number;
}

/**
 * Two of the largest transactions that a gateway makes of them: while one is at its database it reads the next one.
 */
export const MAX_SENT_BYTES = 16 * 1024 * 1024;

export interface OutboxItem<Key> {
  /** Of this item alone. */
  readonly key: Key;
  readonly requestId: string;
  readonly kind: "reply" | "checkpoint";
  readonly bytes: number;
}

export interface OutboxAction<Key> {
  readonly do: "SEND" | "FLUSH";
  readonly item: OutboxItem<Key>;
}

const NOTHING: readonly never[] = [];

/** Sends on one link before a reply goes by HTTP. */
export const MAX_SENDS = 3;

interface Entry<Key> {
  readonly item: OutboxItem<Key>;
  /** In the order in which they were added. */
  readonly place: number;
  /** On the present link. */
  sends: number;
  /** It was sent on the present link, and counts as that. */
  isSent: boolean;
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
 * OUTBOX-3. With a link everything is sent at once, oldest first, as far as OUTBOX-9 goes; without one it waits for the link.
 * OUTBOX-4. What was sent and not acknowledged within `ackMs` is sent again on a healthy link; a reply that was sent
 *     `MAX_SENDS` times on one link in vain is flushed instead.
 * OUTBOX-5. Without a link a reply is flushed once it has waited for `ackMs`, or at once when that is urgent.
 * OUTBOX-6. A checkpoint is never flushed.
 * OUTBOX-7. At most one flush per reply is under way; after a failed one the next try waits for `ackMs`.
 * OUTBOX-8. `flushAll` flushes every reply at once, whatever it waits for: the last resort when time runs out.
 * OUTBOX-9. Of what was sent on the present link at most `maxSentBytes` wait for their acknowledgement, or one item. The
 *     others wait in their order, and go once there is room (`next`): a gateway holds no more of one worker than that.
 */
export class Outbox<Key = string> {
  readonly #limits: OutboxLimits;
  /** Every delay is `ackMs`, so moving what was touched to the end keeps the map in the order of the deadlines. */
  readonly #entries = new Map<Key, Entry<Key>>();
  /** Not sent on the present link, oldest first. */
  readonly #unsent = new Set<Entry<Key>>();
  #bytes = 0;
  #sentBytes = 0;
  #added = 0;
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

  /** What was sent on the present link and is not settled. */
  get sentBytes(): number {
    return this.#sentBytes;
  }

  get full(): boolean {
    return this.#entries.size >= this.#limits.maxCount || this.#bytes >= this.#limits.maxBytes;
  }

  add(item: OutboxItem<Key>, nowMs: number): readonly OutboxAction<Key>[] {
    if (this.#entries.has(item.key)) return [];
    const dueMs = nowMs + this.#limits.ackMs;
    this.#added += 1;
    const place = this.#added;
    const entry: Entry<Key> = { item, place, sends: 0, isSent: false, flushing: false, resting: false, dueMs };
    this.#entries.set(item.key, entry);
    this.#unsent.add(entry);
    this.#bytes += item.bytes;
    return this.next(nowMs);
  }

  /** What there is room for since something was settled. */
  next(nowMs: number): readonly OutboxAction<Key>[] {
    if (!this.#linked || this.#unsent.size === 0) return NOTHING;
    const actions: OutboxAction<Key>[] = [];
    for (const entry of this.#unsent) {
      if (this.#sentBytes > 0 && this.#sentBytes + entry.item.bytes > this.#limits.maxSentBytes) break;
      this.#unsent.delete(entry);
      entry.isSent = true;
      this.#sentBytes += entry.item.bytes;
      actions.push(this.#send(entry, nowMs));
    }
    return actions;
  }

  /** Takes it out; undefined when it is not in. */
  settle(key: Key): OutboxItem<Key> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#unsent.delete(entry);
    this.#bytes -= entry.item.bytes;
    if (entry.isSent) this.#sentBytes -= entry.item.bytes;
    return entry.item;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  linkUp(nowMs: number): readonly OutboxAction<Key>[] {
    this.#linked = true;
    this.#sentBytes = 0;
    this.#unsent.clear();
    for (const entry of [...this.#entries.values()].sort((one, other) => one.place - other.place)) {
      entry.sends = 0;
      entry.isSent = false;
      this.#unsent.add(entry);
    }
    return this.next(nowMs);
  }

  linkDown(nowMs: number): void {
    this.#linked = false;
    this.#sentBytes = 0;
    for (const entry of [...this.#entries.values()]) {
      entry.isSent = false;
      this.#touch(entry, nowMs);
    }
  }

  flushFailed(key: Key, nowMs: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.flushing = false;
    entry.sends = 0;
    entry.resting = true;
    this.#touch(entry, nowMs);
  }

  /** What is due; `urgent` = do not wait for a link. */
  due(nowMs: number, urgent: boolean): readonly OutboxAction<Key>[] {
    const actions: OutboxAction<Key>[] = [];
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

  flushAll(nowMs: number): readonly OutboxAction<Key>[] {
    return [...this.#entries.values()].filter(isFlushable).map((entry) => this.#flush(entry, nowMs));
  }

  nextDueMs(): number | null {
    for (const entry of this.#entries.values()) return entry.dueMs;
    return null;
  }

  #act(entry: Entry<Key>, nowMs: number): OutboxAction<Key> | undefined {
    const mayBeSent = this.#linked && (entry.sends < MAX_SENDS || entry.item.kind === "checkpoint");
    if (mayBeSent && entry.isSent) return this.#send(entry, nowMs);
    if (!mayBeSent && isFlushable(entry)) return this.#flush(entry, nowMs);
    this.#touch(entry, nowMs);
    return undefined;
  }

  #flush(entry: Entry<Key>, nowMs: number): OutboxAction<Key> {
    entry.flushing = true;
    this.#touch(entry, nowMs);
    return { do: "FLUSH", item: entry.item };
  }

  #send(entry: Entry<Key>, nowMs: number): OutboxAction<Key> {
    entry.sends += 1;
    this.#touch(entry, nowMs);
    return { do: "SEND", item: entry.item };
  }

  #touch(entry: Entry<Key>, nowMs: number): void {
    const dueMs = nowMs + this.#limits.ackMs;
    // What is sent as it is added: no other has been touched since, and to move it costs as much as to add it.
    if (entry.dueMs === dueMs) return;
    entry.dueMs = dueMs;
    this.#entries.delete(entry.item.key);
    this.#entries.set(entry.item.key, entry);
  }
}

function isFlushable(entry: Entry<unknown>): boolean {
  return entry.item.kind === "reply" && !entry.flushing;
}
