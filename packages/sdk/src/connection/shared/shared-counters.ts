/**
 * The memory that both threads share. A blocked thread reads no messages; what must be known all the same is a number
 * here. See docs/decisions/0036 and 0037.
 */
import { type ClockReading, suspensionBetween } from "@holdfast/core";

/**
 * Numbers in memory that both threads see, so that each can tell a blocked other side from an idle one without a message,
 * and main knows before each body whether its confirmation is still valid. Every connection thread gets a memory of its
 * own.
 */
export interface SharedCounters {
  /** Main: "I am alive"; called every `pulseMsFor(...)`. */
  addPulse(): void;
  /** Main: took this many log records. */
  addLogsTaken(count: number): void;
  /** Main: an inspector is open, so a debugger may stop it at any time. */
  setDebugged(isOpen: boolean): void;
  /** Thread: it inspects main's stack, and must not be ended meanwhile. */
  setInspecting(isInspecting: boolean): void;
  /** Thread: "I am alive". */
  signAlive(sign: ClockReading): void;
  /** Thread: so much time between two signs of life is a suspension. Before a thread: main, for the time until it has started. */
  setSuspensionLimit(limitMs: number): void;
  /** Thread: from now on main begins only what was confirmed after this doubt. */
  setDoubtNumber(doubtNumber: number): void;
  /** Thread: it posted a message that takes work away from main. */
  addRevocation(): void;
  readPulse(): number;
  readLogsTaken(): number;
  readDebugged(): boolean;
  readInspecting(): boolean;
  /** Rises with each sign of life of the thread. */
  readSigns(): number;
  /** Since the thread's last sign of life. */
  readSilentMs(monotonicMs: number): number;
  readDoubtNumber(): number;
  readRevocations(): number;
  readSuspensionLimit(): number;
  /** Whether the thread has given no sign of life for longer than its suspension limit, at this time. */
  isSilent(now: ClockReading): boolean;
}

export const COUNTERS_BYTES = 40;

/** The longest and the shortest interval of a sign of life. */
const PULSE_MAX_MS = 250;
const PULSE_MIN_MS = 20;

/** How often main gives its sign of life: often enough to measure a stall to an eighth of the threshold. */
export function pulseMsFor(thresholdMs: number | null): number {
  return Math.max(PULSE_MIN_MS, Math.min(PULSE_MAX_MS, (thresholdMs ?? Number.POSITIVE_INFINITY) / 8));
}

export function sharedCounters(buffer: SharedArrayBuffer): SharedCounters {
  const cells = new Int32Array(buffer);
  const add = (cell: number, count: number): void => void Atomics.add(cells, cell, count);
  const store = (cell: number, value: number): void => void Atomics.store(cells, cell, value);
  const load = (cell: number): number => Atomics.load(cells, cell);
  /** Times are kept to 32 bits: the difference of two is right within 24 days. */
  const since = (ms: number, cell: number): number => (Math.floor(ms) - load(cell)) | 0;
  const START: ClockReading = { monotonicMs: 0, wallMs: 0 };
  return {
    addPulse: () => add(0, 1),
    addLogsTaken: (count) => add(1, count),
    setDebugged: (isOpen) => store(2, isOpen ? 1 : 0),
    setInspecting: (isInspecting) => store(3, isInspecting ? 1 : 0),
    signAlive: ({ monotonicMs, wallMs }) => {
      store(4, Math.floor(monotonicMs));
      store(5, Math.floor(wallMs));
      add(6, 1);
    },
    setSuspensionLimit: (limitMs) => store(7, limitMs),
    setDoubtNumber: (doubtNumber) => store(8, doubtNumber),
    addRevocation: () => add(9, 1),
    readPulse: () => load(0),
    readLogsTaken: () => load(1),
    readDebugged: () => load(2) === 1,
    readInspecting: () => load(3) === 1,
    readSigns: () => load(6),
    readSilentMs: (monotonicMs) => Math.max(0, since(monotonicMs, 4)),
    readDoubtNumber: () => load(8),
    readRevocations: () => load(9),
    readSuspensionLimit: () => load(7),
    isSilent: ({ monotonicMs, wallMs }) => {
      const now = { monotonicMs: since(monotonicMs, 4), wallMs: since(wallMs, 5) };
      return suspensionBetween(START, now, load(7)) !== null;
    },
  };
}
