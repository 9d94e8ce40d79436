/** One flush for all that is posted or sent in a turn of the event loop: batching without a delay. */

/** Collects what is to leave the thread, and lets it go together once what runs at the moment is over. */
export interface FlushScheduler {
  /** Makes sure the end of this turn comes. */
  schedule(): void;
  /** Ends the turn now. */
  flushNow(): void;
}

export function createFlushScheduler(onEnd: () => void): FlushScheduler {
  let pending = false;
  const end = (): void => {
    pending = false;
    onEnd();
  };
  return {
    schedule: () => {
      if (pending) return;
      pending = true;
      // All frames of one read, and all messages of one post, are handled before microtasks run.
      queueMicrotask(end);
    },
    flushNow: end,
  };
}
