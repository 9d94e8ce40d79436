import type { Log, TimerHandle, Timers } from "@holdfast/core";
import type { Desk } from "./desk.ts";
import type { GatewayHttp } from "./gateway-http.ts";
import type { LinkDriver } from "./link-driver.ts";

/** What is left of the time for replies that became ready at the very end of the drain. */
const LAST_CALL_MS = 3_000;

export interface ClosingDeps {
  readonly desk: Desk;
  readonly link: LinkDriver;
  readonly http: Pick<GatewayHttp, "abort">;
  readonly timers: Timers;
  readonly log: Log;
  /** Everything is closed; these requests' replies never got an acknowledgement. */
  readonly onClosed: (undelivered: readonly string[]) => void;
}

/**
 * The end of the thread: pause, let work finish, deliver, close the sockets. At the deadline unfinished work is handed
 * back, and replies get a last short while. A second `begin` can only bring the deadline nearer.
 */
export interface Closing {
  begin(drainMs: number): void;
  /** Something in flight ended. */
  look(): void;
}

export function createClosing(deps: ClosingDeps): Closing {
  const { desk, link, timers, log } = deps;
  let phase: "open" | "draining" | "lastCall" | "ending" = "open";
  let alarm: TimerHandle | undefined;

  const end = async (): Promise<void> => {
    phase = "ending";
    alarm?.cancel();
    const undelivered = desk.mail.undelivered();
    if (undelivered.length > 0) {
      log("error", `${undelivered.length} replies could not be delivered before the connection was closed.`, {
        code: "FLUSH_FAILED",
        requestIds: undelivered.slice(0, 20),
      });
    }
    desk.stop();
    deps.http.abort();
    await link.finish();
    deps.onClosed(undelivered);
  };

  const look = (): void => {
    if ((phase === "draining" || phase === "lastCall") && desk.flights.count === 0) void end();
  };

  const drainOver = (): void => {
    phase = "lastCall";
    alarm = timers.set(LAST_CALL_MS, () => void end());
    desk.handBack();
    look();
  };

  return {
    begin: (drainMs) => {
      if (phase === "lastCall" || phase === "ending") return;
      alarm?.cancel();
      alarm = timers.set(drainMs, drainOver);
      if (phase === "open") {
        phase = "draining";
        link.beginShutdown();
        desk.beginShutdown();
      }
      look();
    },
    look,
  };
}
