import type { ClockReading } from "@holdfast/core";

/** What the connection thread needs before its first message. It comes as `workerData`. */
export interface ConnectionThreadData {
  /** Main's clock when it started the thread. */
  readonly started: ClockReading;
  /** How long the process had been running then. */
  readonly uptimeMs: number;
  /** What the thread is, where that is no file. */
  readonly script?: string;
}
