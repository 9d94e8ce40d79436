import { Session, type SessionParts, type SessionSocket, type SessionStream } from "./session.ts";

/** Every socket that is open, each with its session. */
export class Sessions {
  readonly #parts: SessionParts;
  readonly #open = new Set<Session>();
  #draining = false;
  #onEmpty: (() => void) | null = null;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes a socket whose upgrade is done. */
  accept(socket: SessionSocket, stream: SessionStream): void {
    const session = new Session(socket, stream, this.#parts);
    this.#open.add(session);
    socket.on("close", () => {
      this.#open.delete(session);
      if (this.#open.size === 0) this.#onEmpty?.();
    });
    if (this.#draining) session.drain();
  }

  /** Tells every agent to go elsewhere. Resolves when all sockets are closed, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    for (const session of this.#open) session.drain();
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#parts.timers.set(timeoutMs, resolve);
      this.#onEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  close(): void {
    this.#draining = true;
    for (const session of this.#open) session.terminate();
  }
}
