/**
 * Bounds what sockets without a session may hold in memory together. One that sends too much is closed; so is an older
 * one that has sent nothing, where room is needed (docs/decisions/0041).
 */
import type { Duplex } from "node:stream";

export interface PendingLimits {
  readonly maxSockets: number;
  /** What each socket may cost, whatever the others do. */
  readonly ownBytes: number;
  /** What all of them together may cost beyond that: the greeting of a worker with many functions is larger. */
  readonly sharedBytes: number;
  /** What a piece costs beside its bytes, however short it is. */
  readonly pieceBytes: number;
}

/** Why a socket must go. */
export type Eviction = "too-large" | "crowded";

export interface PendingSocket {
  /** Said once; nothing that comes from the socket is wanted any more. */
  onEvicted: (why: Eviction) => void;
  /** Its worker was accepted. */
  release(): void;
}

interface Entry {
  bytes: number;
  release(): void;
  evict(why: Eviction): void;
}

/**
 * Sockets whose worker was not accepted yet: strangers, each of which costs memory. What has come of each is counted as
 * it comes, before anything is made of it. Invariants:
 *
 * PENDING-1. There are never more than `maxSockets`.
 * PENDING-2. Together they have cost at most `maxSockets * ownBytes + sharedBytes`, and a piece each.
 * PENDING-3. A socket that has sent nothing gives its place to a newer one when there are too many, the oldest first:
 *     those that say nothing cannot keep others out. When all have sent something the newer one is refused.
 */
export class PendingSockets {
  readonly #limits: PendingLimits;
  readonly #open = new Set<Entry>();
  #bytes = 0;
  #shared = 0;
  #peakBytes = 0;

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  status(): { sockets: number; bytes: number; peakBytes: number } {
    return { sockets: this.#open.size, bytes: this.#bytes, peakBytes: this.#peakBytes };
  }

  /** Counts what comes of the stream from now on; undefined when there is no place. */
  admit(stream: Duplex): PendingSocket | undefined {
    if (this.#open.size >= this.#limits.maxSockets && !this.#makeRoom()) return undefined;
    const pending: PendingSocket = { onEvicted: () => {}, release: () => entry.release() };
    const count = (piece: Buffer): void => this.#count(entry, piece.byteLength);
    const entry: Entry = {
      bytes: 0,
      release: () => {
        if (!this.#open.delete(entry)) return;
        stream.off("data", count);
        stream.off("close", entry.release);
        this.#bytes -= entry.bytes;
        this.#shared -= this.#beyond(entry.bytes);
      },
      evict: (why) => {
        // What it has sent is held until it is closed.
        stream.pause();
        stream.off("data", count);
        pending.onEvicted(why);
      },
    };
    this.#open.add(entry);
    stream.on("data", count);
    stream.on("close", entry.release);
    return pending;
  }

  #count(entry: Entry, bytes: number): void {
    const cost = bytes + this.#limits.pieceBytes;
    this.#shared += this.#beyond(entry.bytes + cost) - this.#beyond(entry.bytes);
    entry.bytes += cost;
    this.#bytes += cost;
    this.#peakBytes = Math.max(this.#peakBytes, this.#bytes);
    if (entry.bytes > this.#limits.ownBytes && this.#shared > this.#limits.sharedBytes) entry.evict("too-large");
  }

  #beyond(bytes: number): number {
    return Math.max(0, bytes - this.#limits.ownBytes);
  }

  #makeRoom(): boolean {
    for (const entry of this.#open) {
      if (entry.bytes > 0) continue;
      entry.evict("crowded");
      entry.release();
      return true;
    }
    return false;
  }
}
