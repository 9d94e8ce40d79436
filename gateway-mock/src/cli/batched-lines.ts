/**
 * Where log lines go on their way out. A line by itself is a message to the process's main thread and a write there, so
 * those of a crowd, as when thousands of workers connect or leave, would keep everything else waiting.
 */
import type { Timers } from "@holdfast/core";
import type { LogTarget } from "./logger.ts";

/** So many lines of a second leave at once: one that waits is lost if the process is killed meanwhile. */
export const LINES_AT_ONCE = 20;
const SECOND_MS = 1_000;
/** How long the others wait for each other. */
export const TOGETHER_MS = 50;

export interface BatchedLines extends LogTarget {
  /** Writes what waits, before the process ends. */
  flush(): void;
}

export function batchedLines(target: LogTarget, timers: Timers): BatchedLines {
  let count = 0;
  let waiting: string[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    const text = waiting.join("");
    waiting = [];
    target.write(text);
  };
  const restart = (): void => {
    count = 0;
  };
  const after = (ms: number, run: () => void): void => void timers.set(ms, run, { unref: true });
  return {
    write: (line) => {
      if (count === 0) after(SECOND_MS, restart);
      count += 1;
      // None overtakes those that wait.
      if (count <= LINES_AT_ONCE && waiting.length === 0) return target.write(line);
      if (waiting.length === 0) after(TOGETHER_MS, flush);
      waiting.push(line);
    },
    flush,
  };
}
