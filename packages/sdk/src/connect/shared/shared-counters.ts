/**
 * Two numbers that main writes and the thread reads without a message, so that the thread can tell a blocked main
 * from an idle one.
 */
export interface SharedCounters {
  /** Main: "I am alive"; called every `PULSE_MS`. */
  pulse(): void;
  /** Main: took this many log records. */
  logsTaken(count: number): void;
  readPulse(): number;
  readLogsTaken(): number;
}

export const COUNTERS_BYTES = 8;
/** How often main gives its sign of life. */
export const PULSE_MS = 250;

export function sharedCounters(buffer: SharedArrayBuffer): SharedCounters {
  const cells = new Int32Array(buffer);
  return {
    pulse: () => void Atomics.add(cells, 0, 1),
    logsTaken: (count) => void Atomics.add(cells, 1, count),
    readPulse: () => Atomics.load(cells, 0),
    readLogsTaken: () => Atomics.load(cells, 1),
  };
}
