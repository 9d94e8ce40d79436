/** How long a peer takes to answer a ping, for those who look; nothing is decided by it. */
import type { Clock } from "@holdfast/core";
import type { SessionSocket } from "./session-parts.ts";

/** Pings are answered by the socket's own thread, however busy the app is. One is under way at a time. */
export class RoundTrip {
  readonly #socket: SessionSocket;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #pingedMs: number | null = null;
  #ms: number | undefined;

  constructor(socket: SessionSocket, clock: Pick<Clock, "monotonicMs">) {
    this.#socket = socket;
    this.#clock = clock;
    socket.on("pong", () => {
      if (this.#pingedMs !== null) this.#ms = Math.max(0, clock.monotonicMs() - this.#pingedMs);
      this.#pingedMs = null;
    });
  }

  /** Of the last ping; undefined: none was answered yet. */
  get ms(): number | undefined {
    return this.#ms;
  }

  measure(): void {
    const { readyState, OPEN } = this.#socket;
    if (this.#pingedMs !== null || readyState !== OPEN || !this.#socket.ping) return;
    this.#pingedMs = this.#clock.monotonicMs();
    this.#socket.ping();
  }
}
