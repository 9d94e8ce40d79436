/** One end of a WebSocket as the package `ws` shows it, over the simulated network. */
import type { Actor } from "./scheduler.ts";

type Listener = (...args: never[]) => void;

/** What Node's event emitters have and the code under test uses. */
export class Emitter {
  readonly #listeners = new Map<string, { readonly listener: Listener; readonly once: boolean }[]>();

  on(event: string, listener: Listener): this {
    return this.#add(event, listener, false);
  }

  once(event: string, listener: Listener): this {
    return this.#add(event, listener, true);
  }

  emit(event: string, ...args: unknown[]): void {
    const all = this.#listeners.get(event) ?? [];
    this.#listeners.set(
      event,
      all.filter(({ once }) => !once),
    );
    for (const { listener } of all) (listener as (...args: unknown[]) => void)(...args);
  }

  #add(event: string, listener: Listener, once: boolean): this {
    const all = this.#listeners.get(event);
    if (all) all.push({ listener, once });
    else this.#listeners.set(event, [{ listener, once }]);
    return this;
  }
}

/** What goes over a connection, in order. */
export type Packet =
  | { readonly type: "frame"; readonly bytes: Uint8Array }
  | { readonly type: "close"; readonly code: number; readonly reason: string };

/** The way from one end of a connection to the other. */
export interface Wire {
  send(packet: Packet): void;
  /** The stream is torn down from this end. */
  abort(): void;
}

/** More than any sender waits for. */
const FULL_BYTES = 5 * 1024 * 1024;

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** As long as `ws` waits for the other end of a closing handshake. */
const CLOSE_TIMEOUT_MS = 30_000;

/** One end of a WebSocket as `ws` shows it: states, closing handshake, corked writes. */
export class SimWebSocket extends Emitter {
  readonly actor: Actor;
  readonly OPEN = OPEN;
  /** Its peer does not read: nothing that could wait is to be written. */
  isFull = false;
  binaryType = "nodebuffer";
  readyState = CONNECTING;
  #wire: Wire | null = null;
  #corked = false;
  #held: Packet[] = [];
  #closeSent = false;
  #received: { code: number; reason: string } | null = null;
  #onDrain: (() => void)[] = [];

  constructor(actor: Actor) {
    super();
    this.actor = actor;
    actor.onDeath(() => this.#wire?.abort());
  }

  /** The stream below: what is written while it is corked leaves together. */
  readonly stream = {
    cork: (): void => {
      this.#corked = true;
    },
    uncork: (): void => {
      this.#corked = false;
      const held = this.#held;
      this.#held = [];
      for (const packet of held) this.#write(packet);
    },
    setNoDelay: (): void => {},
    on: (event: "drain", listener: () => void): void => {
      if (event === "drain") this.#onDrain.push(listener);
    },
  };

  get bufferedAmount(): number {
    return this.isFull ? FULL_BYTES : 0;
  }

  /** Its peer has read all of it. */
  drained(): void {
    this.isFull = false;
    for (const listener of this.#onDrain) listener();
  }

  opened(wire: Wire): void {
    this.#wire = wire;
    this.readyState = OPEN;
    this.emit("upgrade", { socket: this.stream });
  }

  send(bytes: Uint8Array): void {
    if (this.readyState !== OPEN) return;
    // The encoder may use its memory again.
    this.#write({ type: "frame", bytes: bytes.slice() });
  }

  close(code = 1005, reason = ""): void {
    if (this.readyState === CLOSED || this.readyState === CLOSING) return;
    if (this.readyState === CONNECTING) return this.fail("WebSocket was closed before the connection was established");
    this.readyState = CLOSING;
    this.#sendClose(code, reason);
    const { actor } = this;
    actor.scheduler.after(CLOSE_TIMEOUT_MS, actor, () => this.terminate());
  }

  terminate(): void {
    if (this.readyState === CLOSED) return;
    if (this.readyState === CONNECTING) return this.fail("WebSocket was closed before the connection was established");
    this.readyState = CLOSING;
    if (this.actor.acts()) this.#wire?.abort();
    this.actor.soon(() => this.#ended());
  }

  /** The connection could not be made. */
  fail(message: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSING;
    this.actor.soon(() => {
      if (this.readyState === CLOSED) return;
      this.emit("error", new Error(message));
      this.#ended();
    });
  }

  receive(packet: Packet): void {
    if (this.readyState === CLOSED || this.#received) return;
    if (packet.type === "frame") {
      this.emit("message", Buffer.from(packet.bytes), true);
      return;
    }
    const { code, reason } = packet;
    this.#received = { code, reason };
    if (this.readyState === OPEN) this.readyState = CLOSING;
    this.#sendClose(code, reason);
    this.actor.soon(() => this.#ended());
  }

  /** The stream ended without a closing handshake. */
  broken(): void {
    if (this.readyState === CONNECTING) return this.fail("socket hang up");
    this.#ended();
  }

  #sendClose(code: number, reason: string): void {
    if (this.#closeSent) return;
    this.#closeSent = true;
    this.#write({ type: "close", code, reason });
  }

  #write(packet: Packet): void {
    if (this.#corked) this.#held.push(packet);
    else if (this.actor.acts()) this.#wire?.send(packet);
  }

  #ended(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    const { code, reason } = this.#received ?? { code: 1006, reason: "" };
    this.emit("close", code, Buffer.from(reason));
  }
}
