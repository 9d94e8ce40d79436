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

export interface OutboxItem {
  readonly key: string;
  readonly requestId: string;
  readonly kind: "reply" | "checkpoint";
  readonly bytes: number;
}

export type OutboxAction = { readonly do: "SEND" | "FLUSH"; readonly item: OutboxItem };

const NOTHING: readonly OutboxAction[] = [];

/** Sends on one link before a reply goes by HTTP. */
export const MAX_SENDS = 3;

interface Entry {
  readonly item: OutboxItem;
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
export class Outbox {
  readonly #limits: OutboxLimits;
  /** Every delay is `ackMs`, so moving what was touched to the end keeps the map in the order of the deadlines. */
  readonly #entries = new Map<string, Entry>();
  /** Not sent on the present link, oldest first. */
  readonly #unsent = new Set<Entry>();
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

  add(item: OutboxItem, nowMs: number): readonly OutboxAction[] {
    if (this.#entries.has(item.key)) return [];
    const dueMs = nowMs + this.#limits.ackMs;
    this.#added += 1;
    const entry: Entry = { item, place: this.#added, sends: 0, isSent: false, flushing: false, resting: false, dueMs };
    this.#entries.set(item.key, entry);
    this.#unsent.add(entry);
    this.#bytes += item.bytes;
    return this.next(nowMs);
  }

  /** What there is room for since something was settled. */
  next(nowMs: number): readonly OutboxAction[] {
    if (!this.#linked) return NOTHING;
    const actions: OutboxAction[] = [];
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
  settle(key: string): OutboxItem | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#unsent.delete(entry);
    this.#bytes -= entry.item.bytes;
    if (entry.isSent) this.#sentBytes -= entry.item.bytes;
    return entry.item;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  linkUp(nowMs: number): readonly OutboxAction[] {
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
    const mayBeSent = this.#linked && (entry.sends < MAX_SENDS || entry.item.kind === "checkpoint");
    if (mayBeSent && entry.isSent) return this.#send(entry, nowMs);
    if (!mayBeSent && isFlushable(entry)) return this.#flush(entry, nowMs);
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
    const dueMs = nowMs + this.#limits.ackMs;
    // What is sent as it is added: no other has been touched since, and to move it costs as much as to add it.
    if (entry.dueMs === dueMs) return;
    entry.dueMs = dueMs;
    this.#entries.delete(entry.item.key);
    this.#entries.set(entry.item.key, entry);
  }
}

function isFlushable(entry: Entry): boolean {
  return entry.item.kind === "reply" && !entry.flushing;
}
