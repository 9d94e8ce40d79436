/**
 * Ends of sockets, some in each turn of the event loop. What the end of one costs is little, but the loop hands out all
 * ends at once: those of ten thousand workers that leave together would keep everything else waiting.
 */
import type { Duplex } from "node:stream";

/** About two milliseconds of work. */
export const ENDS_A_TURN = 32;

export class EndsInTurns {
  readonly #atTurnsEnd: (run: () => void) => void;
  /** Heard in this turn. */
  #heard = 0;
  #waiting: (() => void)[] = [];

  /** `atTurnsEnd` calls back once, when this turn of the event loop is over. */
  constructor(atTurnsEnd: (run: () => void) => void) {
    this.#atTurnsEnd = atTurnsEnd;
  }

  /** What listens to the end of `socket` by now hears of it in turn. */
  take(socket: Duplex): void {
    const listeners = socket.listeners("end");
    socket.removeAllListeners("end");
    const end = (): void => {
      // Where it was destroyed meanwhile its close says so.
      if (!socket.destroyed) for (const listener of listeners) listener.call(socket);
    };
    socket.once("end", () => {
      if (this.#heard === 0) this.#atTurnsEnd(this.#next);
      this.#heard += 1;
      if (this.#heard <= ENDS_A_TURN) end();
      else this.#waiting.push(end);
    });
  }

  readonly #next = (): void => {
    const ends = this.#waiting.slice(0, ENDS_A_TURN);
    this.#waiting = this.#waiting.slice(ENDS_A_TURN);
    this.#heard = ends.length;
    if (ends.length > 0) this.#atTurnsEnd(this.#next);
    for (const end of ends) end();
  };
}
