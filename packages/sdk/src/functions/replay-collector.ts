/**
 * What an app is given instead of a connection while it is loaded only to replay runs: `connect()` says which functions
 * it would have served, and nothing goes over the network. Set by `Replay` (`holdfast/testing`), for all copies.
 */
import type { HoldfastFunction } from "./define-function.ts";

export interface ReplayCollector {
  add(functions: readonly HoldfastFunction[]): void;
}

const KEY = Symbol.for("holdfast.replay");

interface Holder {
  [KEY]?: ReplayCollector | undefined;
}

/** In a process that only replays runs also what connects once the app is loaded connects nothing. */
export function replayCollector(): ReplayCollector | undefined {
  return (globalThis as Holder)[KEY] ?? (process.env.HOLDFAST_REPLAY === "1" ? { add: () => {} } : undefined);
}

export function setReplayCollector(collector: ReplayCollector | undefined): void {
  (globalThis as Holder)[KEY] = collector;
}
