/**
 * The conversations of this gateway's workers: each socket is tapped, so that faults may happen to its frames and that
 * they can be watched. Kept is only what is being watched, and little of it.
 */
import type { Duplex } from "node:stream";
import type { Clock, Timers } from "@holdfast/core";
import type { Faults } from "./faults.ts";
import { type FindRequest, RequestNames, type SeenFrame } from "./frame-facts.ts";
import { type FrameView, frameView } from "./frame-view.ts";
import type { FaultDecision } from "./rules/fault-book.ts";
import { type InnerSocket, TappedSocket } from "./tapped-socket.ts";

/** Frames that are kept of each connection while it is watched, for who begins to watch it, too. */
const RING = 200;
/** Of all connections together. */
const MAX_WATCHERS = 100;

export interface ConversationsParts {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Null: this gateway makes none. */
  readonly faults: Faults | null;
  readonly find: FindRequest;
  readonly expire: (requestIds: readonly string[]) => void;
}

/** A frame that came by, unread: who wants it reads it. */
export type FrameListener = (frame: SeenFrame, fault: FaultDecision | null) => void;

interface Watched {
  readonly ring: FrameView[];
  /** Null: the connection is gone. */
  readonly watchers: Set<(frame: FrameView | null) => void>;
}

export class Conversations {
  readonly #parts: ConversationsParts;
  readonly #names: RequestNames;
  readonly #open = new Set<TappedSocket>();
  readonly #listeners = new Set<FrameListener>();
  /** By connection id. */
  readonly #watched = new Map<string, Watched>();
  #watchers = 0;
  #sequence = 0;

  constructor(parts: ConversationsParts) {
    this.#parts = parts;
    this.#names = new RequestNames(parts.find);
  }

  get watchers(): number {
    return this.#watchers;
  }

  get isFull(): boolean {
    return this.#watchers >= MAX_WATCHERS;
  }

  /** Those that are open, with who is at the other end. */
  all(): readonly TappedSocket[] {
    return [...this.#open];
  }

  isOpen(connectionId: string): boolean {
    return this.all().some(({ connection }) => connection?.connectionId === connectionId);
  }

  /** Stands between a socket and its session. */
  tap(socket: InnerSocket, raw: Duplex): TappedSocket {
    const { clock, timers, faults, expire } = this.#parts;
    const tapped = new TappedSocket(socket, raw, {
      clock,
      timers,
      names: this.#names,
      isReading: () => this.#watchers > 0 || this.#listeners.size > 0 || faults?.mayHitFrames === true,
      decide: (frame) => faults?.onFrame(frame) ?? null,
      onFrame: (frame, fault) => this.#onFrame(frame, fault),
      expire: (requestId) => expire([requestId]),
      onClosed: (one) => this.#closed(one),
    });
    this.#open.add(tapped);
    return tapped;
  }

  /** Every frame of every connection. Returns how to stop. */
  listen(listener: FrameListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The frames of one connection from now on, and those that were kept because others watch it. Returns how to stop. */
  watch(
    connectionId: string,
    onFrame: (frame: FrameView | null) => void,
  ): { readonly earlier: FrameView[]; stop(): void } {
    const watched = this.#watched.get(connectionId) ?? { ring: [], watchers: new Set() };
    this.#watched.set(connectionId, watched);
    watched.watchers.add(onFrame);
    this.#watchers += 1;
    const stop = (): void => {
      if (!watched.watchers.delete(onFrame)) return;
      this.#watchers -= 1;
      if (watched.watchers.size === 0) this.#watched.delete(connectionId);
    };
    return { earlier: [...watched.ring], stop };
  }

  #closed(socket: TappedSocket): void {
    this.#open.delete(socket);
    const watched = socket.connection && this.#watched.get(socket.connection.connectionId);
    for (const watcher of watched?.watchers ?? []) watcher(null);
  }

  #onFrame(frame: SeenFrame, fault: FaultDecision | null): void {
    for (const listener of this.#listeners) listener(frame, fault);
    const watched = frame.connection && this.#watched.get(frame.connection.connectionId);
    if (!watched) return;
    this.#sequence += 1;
    const view = frameView(frame, fault, { sequence: this.#sequence, atMs: this.#parts.clock.nowMs() });
    watched.ring.push(view);
    if (watched.ring.length > RING) watched.ring.shift();
    for (const watcher of watched.watchers) watcher(view);
  }
}
