/** Starts the drain when the process is asked to exit and main is too blocked to do so; see docs/decisions/0044. */
import type { Log, TimerHandle, Timers } from "@holdfast/core";
import type { Closing } from "./closing.ts";
import type { ListenToSignals } from "./process-signals.ts";

/** A main thread that is responsive asks for the end of the connection within this time. */
const MAIN_PATIENCE_MS = 1_000;

export interface ShutdownWatchDeps {
  readonly signals: readonly number[];
  readonly drainMs: number;
  readonly listen: ListenToSignals;
  readonly closing: Pick<Closing, "beginForMain">;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * A signal that asks the process to end while the main thread does not move: the connection drains without it, so that the
 * work is handed back at the deadline. A second signal is the deadline, as on main. Returns what ends the watch.
 */
export function watchForShutdown({ signals, drainMs, listen, closing, timers, log }: ShutdownWatchDeps): () => void {
  let heard = 0;
  let alarm: TimerHandle | undefined;
  const patienceMs = Math.min(MAIN_PATIENCE_MS, drainMs / 2);
  const begin = (leftMs: number): void => {
    log("debug", "The process was asked to exit; closing the connection even though the main thread is blocked.");
    closing.beginForMain(leftMs);
  };
  const stopListening = listen(signals, () => {
    heard += 1;
    if (heard === 1) alarm = timers.set(patienceMs, () => begin(drainMs - patienceMs));
    else begin(0);
  });
  return () => {
    alarm?.cancel();
    stopListening();
  };
}
