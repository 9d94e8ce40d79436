/** Has the store remove what is past its time, now and then; any number of gateways do, and one of them is at work. */
import { type Log, messageOf, type Random, sleep, type Timers } from "@holdfast/core";
import type { PruneProgress, RetentionPolicy, Store } from "@holdfast/store";

const FIRST_MS = 10_000;
const EVERY_MS = 60_000;
/** Others have the database between two pieces of work. */
const PIECE = { limitMs: 500, restMs: 500 } as const;
const BLOCKED_MS = 5_000;

export interface GatewayRetentionParts {
  readonly store: Pick<Store, "prune">;
  /** As functions and options are now. */
  readonly policy: () => Promise<RetentionPolicy>;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

/** Returns what ends it. */
export function startGatewayRetention(parts: GatewayRetentionParts): () => void {
  const ending = new AbortController();
  void keepSmall(parts, ending.signal);
  return () => ending.abort();
}

async function keepSmall(
  { store, policy, timers, random, log }: GatewayRetentionParts,
  end: AbortSignal,
): Promise<void> {
  const removed = { runs: 0, events: 0 };
  let restMs = FIRST_MS;
  for (;;) {
    await sleep(timers, restMs * (1 + random() / 2), end);
    if (end.aborted) return;
    try {
      const progress = await store.prune(await policy(), { limitMs: PIECE.limitMs });
      removed.runs += progress.removedRuns;
      removed.events += progress.removedEvents;
      restMs = restAfter(progress.state);
    } catch (error) {
      log("debug", `Old runs could not be removed: ${messageOf(error)}; retrying`);
      restMs = EVERY_MS;
    }
    if (restMs === PIECE.restMs || removed.runs + removed.events === 0) continue;
    log("info", `Removed ${removed.runs} runs and ${removed.events} events that were past their retention`);
    removed.runs = 0;
    removed.events = 0;
  }
}

function restAfter(state: PruneProgress["state"]): number {
  if (state === "more") return PIECE.restMs;
  return state === "blocked" ? BLOCKED_MS : EVERY_MS;
}
