/** Has the log say now and then why runs wait: soon where people look on (`logRuns` is `info`), calmly elsewhere. */
import { type Log, messageOf, type Random, sleep, type Timers } from "@holdfast/core";
import { levelFor } from "@holdfast/store";
import type { RunLogLevel } from "./config/gateway-options.ts";
import { CALM, SOON, WaitingLog, type WaitingLogParts } from "./notices/waiting-log.ts";

export interface GatewayWaitingParts extends WaitingLogParts {
  readonly logRuns: RunLogLevel;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  /** In place of the pace's. */
  readonly lookEveryMs?: number | undefined;
}

/** Returns what ends it. */
export function startWaitingLog(parts: GatewayWaitingParts): () => void {
  const ending = new AbortController();
  void sweep(parts, ending.signal);
  return () => ending.abort();
}

async function sweep(
  { logRuns, timers, random, log, lookEveryMs, ...parts }: GatewayWaitingParts,
  end: AbortSignal,
): Promise<void> {
  const pace = logRuns === "info" ? SOON : CALM;
  const waiting = new WaitingLog({ ...parts, log }, pace);
  for (;;) {
    await sleep(timers, (lookEveryMs ?? pace.everyMs) * (0.75 + 0.5 * random()), end);
    if (end.aborted) return;
    try {
      await waiting.look();
    } catch (error) {
      log(levelFor(error, "debug"), `Runs that wait could not be looked at: ${messageOf(error)}`);
    }
  }
}
