/**
 * Where log lines go on their way out. A write to a pipe or a terminal takes until it is done, so thousands of lines of
 * one turn, as when thousands of workers leave together, would keep everything else waiting.
 */
import type { LogTarget } from "./logger.ts";

/** So many lines of a turn leave at once: one that waits is lost if the process is killed in the same turn. */
export const LINES_AT_ONCE = 20;

export interface LinesInTurns extends LogTarget {
  /** Writes what waits, before the process ends. */
  flush(): void;
}

/** `atTurnsEnd` calls back when this turn of the event loop is over. */
export function linesInTurns(target: LogTarget, atTurnsEnd: (end: () => void) => void): LinesInTurns {
  let count = 0;
  let waiting: string[] = [];
  const flush = (): void => {
    if (waiting.length === 0) return;
    const text = waiting.join("");
    waiting = [];
    target.write(text);
  };
  const end = (): void => {
    count = 0;
    flush();
  };
  return {
    write: (line) => {
      count += 1;
      if (count === 1) atTurnsEnd(end);
      if (count <= LINES_AT_ONCE) target.write(line);
      else waiting.push(line);
    },
    flush,
  };
}
