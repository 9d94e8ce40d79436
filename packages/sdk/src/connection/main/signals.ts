/**
 * Process signals while a connection is open. The first one drains, the next one forces. Once the connection is closed
 * the handlers are gone, and the process ends as by the first signal, unless the app listens to it itself: then the
 * app decides.
 */
export interface SignalHandlers {
  /** Takes the handlers off; with a signal received, passes it on. */
  remove(): void;
}

/** Whether other connections of this process listen to the signal, too. */
export const isShared = (signal: NodeJS.Signals): boolean => (subscribers.get(signal)?.size ?? 0) > 1;

const SWALLOWED_MS = 1_000;

type OnSignal = (signal: NodeJS.Signals) => void;

/** One listener of the process for all connections: Node warns of a leak where there are more than ten. */
const subscribers = new Map<NodeJS.Signals, Set<OnSignal>>();

const tellAll: OnSignal = (signal) => {
  for (const subscriber of [...(subscribers.get(signal) ?? [])]) subscriber(signal);
};

function subscribe(signal: NodeJS.Signals, subscriber: OnSignal): void {
  const present = subscribers.get(signal);
  if (present) return void present.add(subscriber);
  subscribers.set(signal, new Set([subscriber]));
  process.on(signal, tellAll);
}

function unsubscribe(signal: NodeJS.Signals, subscriber: OnSignal): void {
  const present = subscribers.get(signal);
  if (!present?.delete(subscriber) || present.size > 0) return;
  subscribers.delete(signal);
  process.removeListener(signal, tellAll);
}

export function handleSignals(
  signals: readonly NodeJS.Signals[],
  actions: { readonly drain: (signal: NodeJS.Signals) => void; readonly force: () => void },
): SignalHandlers {
  let first: NodeJS.Signals | undefined;
  const onSignal: OnSignal = (signal) => {
    if (first === undefined) {
      first = signal;
      actions.drain(signal);
    } else {
      actions.force();
    }
  };
  for (const signal of signals) subscribe(signal, onSignal);
  return {
    remove: () => {
      for (const signal of signals) unsubscribe(signal, onSignal);
      const received = first;
      first = undefined;
      // Another connection that is not closed yet listens as well, and passes it on when it is.
      if (received === undefined || process.listenerCount(received) > 0) return;
      process.kill(process.pid, received);
      // Only a connection thread that cannot be ended, and listens too, can have taken it.
      setTimeout(() => process.kill(process.pid, "SIGKILL"), SWALLOWED_MS);
    },
  };
}
