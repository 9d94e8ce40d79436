/** Collects what is to leave the thread, and lets it go together once the present turn of the event loop is over. */
export interface Turn {
  /** Makes sure the end of this turn comes. */
  touch(): void;
  /** Ends the turn now. */
  end(): void;
}

export function createTurn(onEnd: () => void): Turn {
  let pending: NodeJS.Immediate | undefined;
  const end = (): void => {
    if (pending) clearImmediate(pending);
    pending = undefined;
    onEnd();
  };
  return {
    touch: () => {
      pending ??= setImmediate(end);
    },
    end,
  };
}
