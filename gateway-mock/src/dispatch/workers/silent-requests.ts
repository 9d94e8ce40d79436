/**
 * Watches for requests that their workers stay connected for and no longer mention, as when the reply reached another
 * gateway over HTTP; `Dispatches` drops them.
 */
import type { TimerHandle } from "@holdfast/core";
import type { DispatcherOptions } from "../ports.ts";
import type { Dispatch } from "./dispatch.ts";

const LOOK_MS = 5_000;
/** Its lease has ended for certain: nothing is taken from a worker that still has the work. */
const LEASES = 2;

export interface SilentRequestsDeps {
  readonly all: () => Iterable<Dispatch>;
  readonly onSilent: (dispatch: Dispatch) => void;
}

/** Those of workers without a socket are `Presence`'s, those that are not acknowledged `AckTimeouts`'. */
export class SilentRequests {
  readonly #options: Pick<DispatcherOptions, "clock" | "timers">;
  readonly #deps: SilentRequestsDeps;
  #timer: TimerHandle | null = null;
  #armedMs = 0;

  constructor(options: Pick<DispatcherOptions, "clock" | "timers">, deps: SilentRequestsDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** There are requests to watch. */
  start(): void {
    if (this.#timer) return;
    this.#armedMs = this.#options.clock.monotonicMs();
    this.#timer = this.#options.timers.set(LOOK_MS, () => this.#look(), { unref: true });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #look(): void {
    this.#timer = null;
    const nowMs = this.#options.clock.monotonicMs();
    const all = [...this.#deps.all()];
    // After a pause of the process what workers have said meanwhile is still to be read.
    const isLate = nowMs - this.#armedMs > 2 * LOOK_MS;
    if (!isLate) for (const dispatch of all) if (isSilent(dispatch, nowMs)) this.#deps.onSilent(dispatch);
    if (all.length > 0) this.start();
  }
}

function isSilent({ worker, acked, commits, lastHeardMs, lastAskedMs }: Dispatch, nowMs: number): boolean {
  if (worker === null || !acked || commits > 0) return false;
  return nowMs - Math.max(lastHeardMs, lastAskedMs) > LEASES * worker.session.leaseMs;
}
