/** The connection thread's log: records go to main's logger by message, bounded while main takes none. */
import type { Log, LogLevel } from "@holdfast/core";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { MainPort } from "./main-port.ts";

/** Log records that may wait for a blocked main; what comes on top is counted and dropped. */
const MAX_WAITING = 500;

export interface PortLogger {
  readonly log: Log;
  readonly dropped: number;
  /** Main is responsive again: it is sent the number of records it did not get. */
  reportDropped(): void;
}

export function createPortLogger(port: Pick<MainPort, "post">, counters: SharedCounters): PortLogger {
  const start = counters.readLogsTaken();
  let posted = 0;
  let dropped = 0;
  let unreported = 0;

  const post = (level: LogLevel, message: string, data?: Readonly<Record<string, unknown>>): void => {
    posted += 1;
    port.post({ type: "LOG", level, message, ...(data ? { data } : {}) });
  };

  const reportDropped = (): void => {
    if (unreported === 0) return;
    const count = unreported;
    unreported = 0;
    post("warn", `${count} log records of the connection thread were dropped while the main thread was blocked.`);
  };

  return {
    get dropped() {
      return dropped;
    },
    reportDropped,
    log: (level, message, data) => {
      // The counter is 32 bits wide and may wrap.
      const waiting = (posted - (counters.readLogsTaken() - start)) | 0;
      if (waiting >= MAX_WAITING) {
        dropped += 1;
        unreported += 1;
        return;
      }
      reportDropped();
      post(level, message, data);
    },
  };
}
