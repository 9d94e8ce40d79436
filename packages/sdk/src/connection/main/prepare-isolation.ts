/**
 * Isolated code is evaluated in threads before the connection is made. The limits of `connect()` count for that as well:
 * its timeout, of which the connection gets what is left, and its signal.
 */
import { type Clock, HoldfastError, type Timers } from "@holdfast/core";
import type { Isolation } from "../../isolation/main/isolation.ts";
import type { IsolationPool } from "../../isolation/main/pool.ts";

export interface OpeningLimits {
  readonly connectTimeoutMs: number;
  readonly abort?: AbortSignal;
}

export const closedEarly = (): HoldfastError =>
  new HoldfastError("CONNECT_CLOSED", "The connection was closed before it was ready.");

export interface Prepared {
  /** Only where one is asked for. */
  readonly pool: IsolationPool | undefined;
  /** Of the timeout. */
  readonly leftMs: number;
}

/** @throws HoldfastError `CONNECT_TIMEOUT`, `CONNECT_CLOSED`, and what `Isolation.prepare()` throws */
export async function prepareIsolation(
  isolation: Pick<Isolation, "prepare" | "open" | "evaluating">,
  needsPool: boolean,
  { connectTimeoutMs, abort }: OpeningLimits,
  { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
): Promise<Prepared> {
  const fromMs = clock.monotonicMs();
  const prepare = async (): Promise<IsolationPool | undefined> => {
    await isolation.prepare();
    return needsPool ? isolation.open() : undefined;
  };
  const pool = await new Promise<IsolationPool | undefined>((resolve, reject) => {
    const onAbort = (): void => reject(closedEarly());
    if (abort?.aborted) return onAbort();
    const onLate = (): void => {
      const { evaluating } = isolation;
      const hung =
        evaluating === undefined
          ? "no thread has begun with one: the process is short of CPU time, or what each thread loads first hangs (`--import`, `--require`)"
          : `a thread is still evaluating ${evaluating}, or what that imports`;
      const message = `The modules of isolated code were not evaluated within ${connectTimeoutMs} ms: ${hung}. They are evaluated in threads before the connection is made; keep them small, and await nothing at their top that may not come.`;
      reject(new HoldfastError("CONNECT_TIMEOUT", message));
    };
    const late = timers.set(connectTimeoutMs, onLate);
    abort?.addEventListener("abort", onAbort);
    void prepare()
      .then(resolve, reject)
      .finally(() => {
        late.cancel();
        abort?.removeEventListener("abort", onAbort);
      });
  });
  return { pool, leftMs: Math.max(1, connectTimeoutMs - Math.round(clock.monotonicMs() - fromMs)) };
}
