/**
 * SIGTERM and the like on a thread, for a main thread that is blocked and cannot hear them. Uses an internal of Node;
 * docs/decisions/0044 says why, and what happens where it is missing.
 */

interface SignalHandle {
  onsignal: (number: number) => void;
  /** 0, or the number of an error. */
  start(number: number): number;
  close(): void;
}

/** Calls back for each of these signals that the process gets; returns what ends that. */
export type ListenToSignals = (signals: readonly number[], onSignal: () => void) => () => void;

/**
 * Node delivers signals only to the main thread, in a turn of its event loop: a blocked one receives none. The system
 * notifies the process, and each event loop that has a handle for the signal; Node has one without a public name, which
 * the thread may use because it was started with `INTERNALS_FLAG`. Where that is missing no signal is received.
 */
export const listenToSignals: ListenToSignals = (signals, onSignal) => {
  const handles: SignalHandle[] = [];
  try {
    const Signal = signalHandle();
    for (const number of signals) {
      const handle = new Signal();
      handles.push(handle);
      handle.onsignal = onSignal;
      handle.start(number);
    }
  } catch {
    // Main gets the signal once it is responsive.
  }
  return () => {
    for (const handle of handles.splice(0)) handle.close();
  };
};

interface Internals {
  internalBinding(name: "signal_wrap"): { readonly Signal: new () => SignalHandle };
}

function signalHandle(): new () => SignalHandle {
  const { emitWarning } = process;
  // Node warns about internals each time they are used.
  process.emitWarning = () => {};
  try {
    const internals: unknown = process.getBuiltinModule("internal/test/binding");
    return (internals as Internals).internalBinding("signal_wrap").Signal;
  } finally {
    process.emitWarning = emitWarning;
  }
}
