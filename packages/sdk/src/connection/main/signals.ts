/**
 * Process signals while a connection is open. The first one drains, the next one forces. Once the connection is closed
 * the handlers are gone, and the process ends as by the first signal, unless the app listens to it itself: then the
 * app decides.
 */
export interface SignalHandlers {
  /** Takes the handlers off; with a signal received, passes it on. */
  remove(): void;
}

const SWALLOWED_MS = 1_000;

export function handleSignals(
  signals: readonly NodeJS.Signals[],
  actions: { readonly drain: (signal: NodeJS.Signals) => void; readonly force: () => void },
): SignalHandlers {
  let first: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === undefined) {
      first = signal;
      actions.drain(signal);
    } else {
      actions.force();
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    remove: () => {
      for (const signal of signals) process.removeListener(signal, onSignal);
      const received = first;
      first = undefined;
      if (received === undefined || process.listenerCount(received) > 0) return;
      process.kill(process.pid, received);
      // Only a connection thread that cannot be ended, and listens too, can have taken it.
      setTimeout(() => process.kill(process.pid, "SIGKILL"), SWALLOWED_MS);
    },
  };
}
