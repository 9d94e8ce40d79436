/** When a gateway's process is asked to end: signals, and the end of a parent that holds an IPC channel. */
import { type Log, messageOf } from "@holdfast/core";
import { EXIT } from "./exit-codes.ts";

export interface StopRequests {
  readonly asked: Promise<void>;
  /** At the second request. */
  readonly forced: Promise<void>;
}

export function stopRequests(log: Log): StopRequests {
  let count = 0;
  let ask = (): void => {};
  let force = (): void => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const forced = new Promise<void>((resolve) => {
    force = resolve;
  });
  const stop = (): void => {
    count += 1;
    ask();
    if (count === 2) force();
    if (count > 2) process.exit(EXIT.failed);
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  if (process.send) process.on("disconnect", stop);
  const fatal = (error: unknown): void => {
    log(
      "error",
      `Unexpected: ${messageOf(error)}`,
      error instanceof Error && error.stack ? { stack: error.stack } : undefined,
    );
    process.exitCode = EXIT.failed;
  };
  process.on("unhandledRejection", fatal);
  process.on("uncaughtException", (error) => {
    fatal(error);
    process.exit(EXIT.failed);
  });
  return { asked, forced };
}
