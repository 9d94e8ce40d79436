/** How long a peer takes to answer a ping, for those who look; nothing is decided by it. */
import type { Clock } from "@holdfast/core";
import type { SessionSocket } from "./session-parts.ts";

/** Pings are answered by the socket's own thread, however busy the app is. One is under way at a time. */
export class RoundTrip {
  readonly #ping: () => boolean;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #pingedMs: number | null = null;
  #ms: number | undefined;

  /** `ping` sends one, or answers that it could not. */
  constructor(socket: Pick<SessionSocket, "on">, ping: () => boolean, clock: Pick<Clock, "monotonicMs">) {
    this.#ping = ping;
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
    if (this.#pingedMs !== null) return;
    const atMs = this.#clock.monotonicMs();
    if (this.#ping()) this.#pingedMs = atMs;
  }
}
