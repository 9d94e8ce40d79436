/** Removes tests of graphs that no caller has stopped, a day after they began; any number of gateways do. */
import { HoldfastError, type Log, messageOf, type Random, sleep, type Timers } from "@holdfast/core";
import { levelFor, type Store } from "@holdfast/store";
import type { Dispatcher } from "./dispatch/index.ts";

const EVERY_MS = 60_000;
const DAY_MS = 86_400_000;
const A_SWEEP = 100;

export interface GatewayGraphTestsParts {
  readonly dispatcher: Pick<Dispatcher, "repairs">;
  readonly store: Pick<Store, "oldGraphTests">;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

/** Returns what ends it. */
export function startGraphTestSweeps(parts: GatewayGraphTestsParts): () => void {
  const ending = new AbortController();
  void sweepNowAndThen(parts, ending.signal);
  return () => ending.abort();
}

async function sweepNowAndThen(parts: GatewayGraphTestsParts, end: AbortSignal): Promise<void> {
  const { timers, random, log } = parts;
  for (;;) {
    await sleep(timers, EVERY_MS * (0.5 + random()), end);
    if (end.aborted) return;
    try {
      await sweepGraphTests(parts);
    } catch (error) {
      log(levelFor(error, "debug"), `Old tests of graphs could not be removed: ${messageOf(error)}`);
    }
  }
}

/** Returns how many it has removed. One that is kept on hold stays. */
export async function sweepGraphTests({
  dispatcher,
  store,
}: Pick<GatewayGraphTestsParts, "dispatcher" | "store">): Promise<number> {
  let removed = 0;
  for (const runId of await store.oldGraphTests(DAY_MS, A_SWEEP)) {
    try {
      await dispatcher.repairs.deletions.delete(runId, { cancels: true });
      removed += 1;
    } catch (error) {
      // On hold, needed still, or removed by another gateway in the meantime.
      if (!HoldfastError.is(error) || !SKIPPED.has(error.code)) throw error;
    }
  }
  return removed;
}

const SKIPPED: ReadonlySet<string> = new Set(["RUN_ON_HOLD", "RUN_IN_USE", "RUN_NOT_ENDED", "NOT_FOUND"]);
