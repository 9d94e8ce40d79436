/** Owns all sessions of this gateway: makes them, drains them together, closes what is left. */
import { LogLimit } from "./log-limit.ts";
import { LOG_LIMITS, Session } from "./session.ts";
import type { SessionParts, SessionSocket, SessionStream } from "./session-parts.ts";

type SessionsParts = Omit<SessionParts, "pendingLog" | "onAccepted" | "onFrame">;

/** Of all that are not accepted yet together: more, so that the reasons of honest ones are seen. */
const PENDING_LOG = { burst: 50, everyMs: 500 } as const;

/** Every socket that is open, each with its session. */
export class Sessions {
  readonly #parts: SessionsParts;
  /** Who is not accepted yet has no name: all of them share one allowance. */
  readonly #pendingLog: LogLimit;
  readonly #open = new Set<Session>();
  readonly #framesReceived = new Map<string, number>();
  #draining = false;
  #onEmpty: (() => void) | null = null;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#pendingLog = new LogLimit(parts, {
      ...LOG_LIMITS,
      ...PENDING_LOG,
      subject: "connections that have not been accepted yet",
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Frames that workers have sent since the start, by kind. */
  get framesReceived(): ReadonlyMap<string, number> {
    return this.#framesReceived;
  }

  /** Takes a socket whose upgrade is done; `onAccepted` once its worker is known and taken. */
  accept(socket: SessionSocket, stream: SessionStream, onAccepted: () => void = () => {}): Session {
    const session = new Session(socket, stream, {
      ...this.#parts,
      pendingLog: this.#pendingLog.log,
      onAccepted,
      onFrame: this.#countFrame,
    });
    this.#open.add(session);
    socket.on("close", () => {
      this.#open.delete(session);
      if (this.#open.size === 0) this.#onEmpty?.();
    });
    if (this.#draining) session.drain();
    return session;
  }

  /** Tells every worker to reconnect elsewhere. Resolves when all sockets are closed, or after `timeoutMs`. */
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

  readonly #countFrame = (kind: string): void => {
    this.#framesReceived.set(kind, (this.#framesReceived.get(kind) ?? 0) + 1);
  };

  close(): void {
    this.#draining = true;
    for (const session of this.#open) session.terminate();
    this.#pendingLog.flush();
  }
}
