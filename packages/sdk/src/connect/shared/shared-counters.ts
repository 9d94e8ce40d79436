/**
 * Numbers that main writes and the thread reads without a message, so that the thread can tell a blocked main from an
 * idle one.
 */
export interface SharedCounters {
  /** Main: "I am alive"; called every `pulseMsFor(...)`. */
  pulse(): void;
  /** Main: took this many log records. */
  logsTaken(count: number): void;
  /** Main: an inspector is open, so a debugger may stop it at any time. */
  debugged(isOpen: boolean): void;
  /** Thread: it looks at main's stack, and must not be ended meanwhile. */
  looking(isLooking: boolean): void;
  readPulse(): number;
  readLogsTaken(): number;
  readDebugged(): boolean;
  readLooking(): boolean;
}

export const COUNTERS_BYTES = 16;

/** The longest and the shortest interval of main's sign of life. */
const PULSE_MAX_MS = 250;
const PULSE_MIN_MS = 20;

/** How often main gives its sign of life: often enough to measure a stall to an eighth of the threshold. */
export function pulseMsFor(thresholdMs: number | null): number {
  return Math.max(PULSE_MIN_MS, Math.min(PULSE_MAX_MS, (thresholdMs ?? Number.POSITIVE_INFINITY) / 8));
}

export function sharedCounters(buffer: SharedArrayBuffer): SharedCounters {
  const cells = new Int32Array(buffer);
  return {
    pulse: () => void Atomics.add(cells, 0, 1),
    logsTaken: (count) => void Atomics.add(cells, 1, count),
    debugged: (isOpen) => void Atomics.store(cells, 2, isOpen ? 1 : 0),
    looking: (isLooking) => void Atomics.store(cells, 3, isLooking ? 1 : 0),
    readPulse: () => Atomics.load(cells, 0),
    readLogsTaken: () => Atomics.load(cells, 1),
    readDebugged: () => Atomics.load(cells, 2) === 1,
    readLooking: () => Atomics.load(cells, 3) === 1,
  };
}
