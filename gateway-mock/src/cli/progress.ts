/** Says on a terminal what is waited for, once that has taken a second, and removes it again. */
import { systemTimers, type TimerHandle, type Timers } from "@holdfast/core";
import type { Output } from "./output.ts";

const QUIET_MS = 1_000;
/** Removes what is said, for a line that stays. */
export const CLEAR_LINE = "\r\u001b[2K";

/** Runs `work`; in a pipe nothing is said. `text` is asked anew each second. */
export async function withProgress<T>(
  output: Output,
  text: () => string,
  work: () => Promise<T>,
  timers: Timers = systemTimers,
): Promise<T> {
  if (!output.showsProgress) return work();
  let seconds = 0;
  let timer: TimerHandle;
  const tick = (): void => {
    seconds += 1;
    output.note(`${CLEAR_LINE}${text()} (${seconds} s)`);
    timer = timers.set(QUIET_MS, tick);
  };
  timer = timers.set(QUIET_MS, tick);
  try {
    return await work();
  } finally {
    timer.cancel();
    if (seconds > 0) output.note(CLEAR_LINE);
  }
}
