/**
 * Inspections of main's stack that have not ended yet. While one is open the thread must not end: main's debugger speaks to
 * it until main has dealt with the end of the session, and Node (20, 22 and 24) aborts the process when a debugger speaks
 * to a thread that is gone.
 */
export interface InspectorSessions {
  begin(): void;
  end(): void;
  /** Calls `then` once none is open. */
  afterAll(then: () => void): void;
}

export function createInspectorSessions(): InspectorSessions {
  let open = 0;
  let waiting: (() => void)[] = [];
  return {
    begin() {
      open += 1;
    },
    end() {
      open -= 1;
      if (open > 0) return;
      const all = waiting;
      waiting = [];
      for (const then of all) then();
    },
    afterAll(then) {
      if (open === 0) then();
      else waiting.push(then);
    },
  };
}

/** Ends this thread once no inspection of main is open; an error that nothing else catches ends it no earlier, either. */
export function endAfterInspection(inspectorSessions: Pick<InspectorSessions, "afterAll">): (code: number) => void {
  const onError = (error: unknown): void => {
    inspectorSessions.afterAll(() => {
      process.off("uncaughtException", onError);
      // Outside of the promise or callback that is under way: as if there were no listener.
      setImmediate(() => {
        throw error;
      });
    });
  };
  process.on("uncaughtException", onError);
  return (code) => inspectorSessions.afterAll(() => process.exit(code));
}
