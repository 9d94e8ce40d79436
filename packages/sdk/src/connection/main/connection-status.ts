/**
 * Owns what is known of a connection from main's side: its state, its id, whether it ever was ready, what went wrong last.
 * `open-connection.ts` reports events to it; users see the state.
 */
import type { ConnectionState } from "../shared/debug-state.ts";

/** CLOSED and FAILED are final, and once closing began nothing but an end follows. */
export class ConnectionStatus {
  state: ConnectionState = "CONNECTING";
  connectionId: string | null = null;
  everReady = false;
  /** What the log said last of a problem, for messages about a connection that does not come. */
  lastProblem = "";
  readonly #isClosing: () => boolean;
  readonly #onChange: (from: ConnectionState, to: ConnectionState) => void;

  constructor(isClosing: () => boolean, onChange: (from: ConnectionState, to: ConnectionState) => void) {
    this.#isClosing = isClosing;
    this.#onChange = onChange;
  }

  set(next: ConnectionState): void {
    if (this.state === "FAILED" || this.state === "CLOSED") return;
    const isEnd = next === "CLOSED" || next === "FAILED";
    const before = this.state;
    this.state = this.#isClosing() && !isEnd ? "CLOSING" : next;
    if (isEnd || next === "RECONNECTING" || next === "CONNECTING") this.connectionId = null;
    if (this.state !== before) this.#onChange(before, this.state);
  }

  onReady(connectionId: string): void {
    this.everReady = true;
    this.set("ACTIVE");
    this.connectionId = connectionId;
  }

  /** The thread is gone; the next one connects. */
  onThreadGone(problem: string): void {
    this.lastProblem = problem;
    this.set(this.everReady ? "RECONNECTING" : "CONNECTING");
  }
}
