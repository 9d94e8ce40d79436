import type { InspectorSessions } from "./inspector-sessions.ts";

/** Ends this thread once no look at main is open; an error that nothing else catches ends it no earlier, either. */
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
