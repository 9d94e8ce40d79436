/** Collects what is to leave the thread, and lets it go together once what runs at the moment is over. */
export interface Turn {
  /** Makes sure the end of this turn comes. */
  touch(): void;
  /** Ends the turn now. */
  end(): void;
}

export function createTurn(onEnd: () => void): Turn {
  let pending = false;
  const end = (): void => {
    pending = false;
    onEnd();
  };
  return {
    touch: () => {
      if (pending) return;
      pending = true;
      // All frames of one read, and all messages of one post, are handled before microtasks run.
      queueMicrotask(end);
    },
    end,
  };
}
