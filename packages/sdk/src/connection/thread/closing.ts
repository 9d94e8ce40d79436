/**
 * The connection thread's half of `close()`: drain, last flush, close frames. Main's half is `main/closer.ts`;
 * docs/decisions/0014 and 0015 say why the end has these budgets and gives leases back.
 */
import type { Clock, Log, TimerHandle, Timers } from "@holdfast/core";
import type { GatewayHttp } from "./gateway-http.ts";
import type { LinkDriver } from "./link-driver.ts";
import type { RequestManager } from "./request-manager.ts";
import type { Emit, ThreadEffect } from "./thread-effect.ts";

type Closed = Extract<ThreadEffect, { do: "CLOSED" }>;

/** How long before the deadline replies without acknowledgement go by HTTP as well. */
const LAST_FLUSH_MS = 1_500;
/** What is left after the deadline for replies that became ready at its very end. */
const LAST_CALL_MS = 400;
/** How long peers may take to answer the close frames: while there is time, and when there is none. */
const MAX_CLOSE_MS = 2_000;
const MIN_CLOSE_MS = 250;

export interface ClosingDeps {
  readonly requests: Pick<
    RequestManager,
    "inFlightCount" | "undelivered" | "beginShutdown" | "handBackUnfinished" | "flushReplies" | "stop"
  >;
  readonly link: Pick<LinkDriver, "beginShutdown" | "finish" | "limitClosing">;
  readonly http: Pick<GatewayHttp, "abort">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/**
 * The end of the thread: pause, let work finish, deliver, close the sockets. At the deadline unfinished work is handed
 * back, and replies get a last short while, all of which is over well within a second. A second `begin` can only bring
 * the deadline nearer.
 */
export interface Closing {
  /** Main asks for it. */
  begin(drainMs: number): void;
  /** Main does not move and cannot ask: the same, but that the thread stays for main to ask it to end. */
  beginForMain(drainMs: number): void;
  /** Something in flight ended. */
  recheck(): void;
}

export function createClosing(deps: ClosingDeps, emit: Emit<Closed>): Closing {
  const { requests, link, clock, timers, log } = deps;
  let phase: "open" | "draining" | "lastCall" | "ending" = "open";
  let deadlineMs = 0;
  let isAsked = false;
  let undelivered: readonly string[] | null = null;
  let alarm: TimerHandle | undefined;
  let flushAlarm: TimerHandle | undefined;

  const end = async (): Promise<void> => {
    phase = "ending";
    alarm?.cancel();
    flushAlarm?.cancel();
    const left = requests.undelivered();
    if (left.length > 0) {
      log("error", `${left.length} replies could not be delivered before the connection was closed.`, {
        code: "FLUSH_FAILED",
        requestIds: left.slice(0, 20),
      });
    }
    requests.stop();
    deps.http.abort();
    await link.finish(Math.min(MAX_CLOSE_MS, Math.max(MIN_CLOSE_MS, deadlineMs - clock.monotonicMs())));
    undelivered = left;
    emitClosed();
  };

  const emitClosed = (): void => {
    if (isAsked && undelivered !== null) emit({ do: "CLOSED", undelivered });
  };

  const recheck = (): void => {
    if ((phase === "draining" || phase === "lastCall") && requests.inFlightCount === 0) void end();
  };

  const drainOver = (): void => {
    phase = "lastCall";
    alarm = timers.set(LAST_CALL_MS, () => void end());
    requests.handBackUnfinished();
    requests.flushReplies();
    recheck();
  };

  const begin = (drainMs: number): void => {
    if (phase === "ending" && drainMs < MIN_CLOSE_MS) return link.limitClosing(MIN_CLOSE_MS);
    if (phase === "lastCall" || phase === "ending") return;
    const endMs = clock.monotonicMs() + drainMs;
    if (phase === "draining" && endMs >= deadlineMs) return;
    deadlineMs = endMs;
    alarm?.cancel();
    alarm = timers.set(drainMs, drainOver);
    flushAlarm?.cancel();
    flushAlarm = timers.set(Math.max(0, drainMs - LAST_FLUSH_MS), () => requests.flushReplies());
    if (phase === "open") {
      phase = "draining";
      link.beginShutdown();
      requests.beginShutdown();
    }
    recheck();
  };

  return {
    begin: (drainMs) => {
      isAsked = true;
      if (undelivered !== null) return emitClosed();
      begin(drainMs);
    },
    beginForMain: (drainMs) => {
      if (!isAsked) begin(drainMs);
    },
    recheck,
  };
}
