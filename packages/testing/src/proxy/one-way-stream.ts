/** One direction of a proxied connection: bytes in order, delayed, held back or cut as the test says. */
import type { Socket } from "node:net";
import { type Clock, type TimerHandle, type Timers, unreachable } from "@holdfast/core";

type Item = { readonly dueMs: number } & (
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "end" | "close" | "reset" }
);
type Sent = { readonly kind: "bytes"; readonly bytes: Uint8Array } | { readonly kind: "end" | "close" | "reset" };

export interface OneWayOptions {
  readonly source: Socket;
  readonly destination: Socket;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Read for each piece as it comes in. */
  readonly delayMs: () => number;
}

/** More than this is not kept back; the source is paused instead, as a slow network would do. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;

/** One direction of a connection: everything leaves in the order it came, at once, later, or when it is let go. */
export class OneWayStream {
  readonly #options: OneWayOptions;
  readonly #queue: Item[] = [];
  #queuedBytes = 0;
  #held = false;
  #timer: TimerHandle | undefined;

  constructor(options: OneWayOptions) {
    this.#options = options;
    options.destination.on("drain", () => this.#resumeSource());
  }

  get held(): boolean {
    return this.#held;
  }

  send(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#add({ kind: "bytes", bytes });
  }

  /** The source has said its last byte. */
  end(): void {
    this.#add({ kind: "end" });
  }

  /** The source is closed: it takes nothing any more either. */
  close(): void {
    this.#add({ kind: "close" });
  }

  /** The source broke off. */
  reset(): void {
    this.#add({ kind: "reset" });
  }

  /** Nothing leaves until `release`. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.#pump();
  }

  dispose(): void {
    this.#timer?.cancel();
    this.#queue.length = 0;
  }

  #add(sent: Sent): void {
    const { clock, delayMs, source } = this.#options;
    this.#queue.push({ ...sent, dueMs: clock.monotonicMs() + delayMs() });
    if (sent.kind === "bytes") this.#queuedBytes += sent.bytes.length;
    this.#pump();
    if (this.#queuedBytes > MAX_QUEUED_BYTES) source.pause();
  }

  #pump(): void {
    const { clock, timers, destination, source } = this.#options;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (let item = this.#queue[0]; item !== undefined && !this.#held; item = this.#queue[0]) {
      const leftMs = item.dueMs - clock.monotonicMs();
      if (leftMs > 0) {
        this.#timer = timers.set(Math.ceil(leftMs), () => this.#pump());
        break;
      }
      this.#queue.shift();
      if (item.kind === "bytes") this.#queuedBytes -= item.bytes.length;
      if (!deliver(item, destination)) source.pause();
    }
    if (!destination.writableNeedDrain) this.#resumeSource();
  }

  #resumeSource(): void {
    if (this.#queuedBytes <= MAX_QUEUED_BYTES) this.#options.source.resume();
  }
}

/** Ends a socket with a reset, where the system allows it: not after our own end, nor before it is connected. */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}

/** False: the destination wants a pause. */
function deliver(item: Item, destination: Socket): boolean {
  switch (item.kind) {
    case "bytes":
      return !destination.writable || destination.write(item.bytes);
    case "end":
      destination.end();
      return true;
    case "close":
      destination.destroySoon();
      return true;
    case "reset":
      resetSocket(destination);
      return true;
    default:
      return unreachable(item);
  }
}
