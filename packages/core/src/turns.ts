/**
 * Turns of the event loop, as the system has them when this is loaded: fake timers that a test installs later do not stop
 * Holdfast.
 */

// Where events are sent from a browser it is not there.
let setTurn: (act: () => void) => unknown = globalThis.setImmediate;

/** Calls `act` in the next turn of the event loop. */
export function inNextTurn(act: () => void): void {
  setTurn(act);
}

/**
 * Everything else that is due happens first: long work that is cut into parts waits for this between them. What the work
 * comes to does not depend on it, so pure code may use it.
 */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setTurn(resolve));

/** For simulations, which decide themselves what a turn of the event loop is. The function that it returns takes that back. */
export function replaceTurns(other: (act: () => void) => unknown): () => void {
  const before = setTurn;
  setTurn = other;
  return () => {
    setTurn = before;
  };
}
