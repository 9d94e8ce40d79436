/**
 * Owns what leaves over one socket: one write a turn of the event loop, and requests that wait until the peer has read
 * enough. `session.ts` decides what is sent; the dispatcher asks whether a worker is congested.
 */
import { allocatePooled, encodeGatewayFrame, type GatewayFrame } from "@holdfast/protocol";
import type { SessionSettings, SessionSocket, SessionStream } from "./session-parts.ts";

export interface FrameWriterEvents {
  /** Nothing waits for room any more. */
  readonly onRoom: () => void;
  /** The peer does not read: the socket is about to be dropped. */
  readonly onFull: () => void;
}

export class FrameWriter {
  readonly #socket: SessionSocket;
  readonly #raw: SessionStream;
  readonly #settings: Pick<SessionSettings, "roomBytes" | "maxBufferedBytes">;
  readonly #events: FrameWriterEvents;
  #corked = false;
  /** Requests that wait for room. */
  #waiting: (() => GatewayFrame | null)[] = [];

  constructor(
    socket: SessionSocket,
    raw: SessionStream,
    settings: Pick<SessionSettings, "roomBytes" | "maxBufferedBytes">,
    events: FrameWriterEvents,
  ) {
    this.#socket = socket;
    this.#raw = raw;
    this.#settings = settings;
    this.#events = events;
    raw.on("drain", () => this.#sendWaiting());
  }

  /** Requests wait for room. */
  get isCongested(): boolean {
    return this.#waiting.length > 0;
  }

  /** Frames of one turn of the event loop leave in one write. */
  send(frame: GatewayFrame): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > this.#settings.maxBufferedBytes) {
      this.#events.onFull();
      this.#socket.terminate();
      return;
    }
    this.#cork();
    this.#socket.send(encodeGatewayFrame(frame, allocatePooled));
  }

  /** Leaves with the frames of this turn; false: not over this socket, or not any more. */
  ping(): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN || !this.#socket.ping) return false;
    this.#cork();
    this.#socket.ping();
    return true;
  }

  /** Sends once there is room, in the order of the calls; null = not wanted any more. */
  sendWhenRoom(make: () => GatewayFrame | null): void {
    if (this.isCongested || !this.#hasRoom()) return void this.#waiting.push(make);
    const frame = make();
    if (frame) this.send(frame);
  }

  flush(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.#raw.uncork();
  }

  /** What waits is not sent any more. */
  stop(): void {
    this.#waiting = [];
  }

  /** A crowd of large requests must neither pile up in memory nor keep heartbeats and acknowledgements waiting. */
  #sendWaiting(): void {
    if (!this.isCongested) return;
    while (this.isCongested && this.#hasRoom()) {
      const frame = this.#waiting.shift()?.();
      if (frame) this.send(frame);
    }
    if (!this.isCongested) this.#events.onRoom();
  }

  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#raw.cork();
    setImmediate(() => this.flush());
  }

  #hasRoom(): boolean {
    return this.#socket.bufferedAmount <= this.#settings.roomBytes;
  }
}
