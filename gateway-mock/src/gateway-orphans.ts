/** Has the dispatcher look now and then for orphans. */
import { type Log, messageOf, type Random, sleep, type Timers } from "@holdfast/core";
import { levelFor } from "@holdfast/store";
import type { Dispatcher } from "./dispatch/index.ts";

const EVERY_MS = 10_000;

export interface GatewayOrphansParts {
  readonly dispatcher: Pick<Dispatcher, "orphans">;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

/** Returns what ends it. */
export function startOrphanSweeps(parts: GatewayOrphansParts): () => void {
  const ending = new AbortController();
  void sweep(parts, ending.signal);
  return () => ending.abort();
}

async function sweep({ dispatcher, timers, random, log }: GatewayOrphansParts, end: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(timers, EVERY_MS * (0.5 + random()), end);
    if (end.aborted) return;
    try {
      await dispatcher.orphans.sweep();
    } catch (error) {
      log(levelFor(error, "debug"), `Orphans could not be looked for: ${messageOf(error)}`);
    }
  }
}
