/** When a gateway is asked to end, and what ends it unasked. */
import { type Log, messageOf } from "@holdfast/core";
import { EXIT } from "../exit-codes.ts";

export interface StopRequests {
  readonly asked: Promise<void>;
  /** At the second request. */
  readonly forced: Promise<void>;
}

/** `onAsked` calls its listener for each time that the gateway is asked; the third ends it at once. */
export function stopRequests(log: Log, onAsked: (listener: () => void) => void): StopRequests {
  let count = 0;
  let ask = (): void => {};
  let force = (): void => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const forced = new Promise<void>((resolve) => {
    force = resolve;
  });
  onAsked(() => {
    count += 1;
    ask();
    if (count === 2) force();
    if (count > 2) process.exit(EXIT.failed);
  });
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
