/** The connection of an app that is loaded only to replay runs: there is none, and nothing ever comes. */
import type { Connection } from "./connection.ts";

export function unconnected(): Connection {
  const close = (): Promise<void> => Promise.resolve();
  return {
    state: "CLOSED",
    connectionId: null,
    instanceId: "replay",
    debugState: () => {
      throw new Error("There is no connection: the app is only loaded to replay runs.");
    },
    closed: new Promise(() => {}),
    close,
    [Symbol.asyncDispose]: close,
  };
}
