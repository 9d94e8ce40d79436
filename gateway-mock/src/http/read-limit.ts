/**
 * How long a call that reads waits for a database that does not answer at all, such as one that hangs or whose machine is
 * gone without a word. What is stored is tried again for much longer; a caller that reads can ask again itself.
 */
import { deferred, HoldfastError, type Timers, withTimeout } from "@holdfast/core";
import type { Store } from "@holdfast/store";
import type { MiddlewareHandler } from "hono";
import { GATEWAY_LIMITS } from "../config/config.ts";

export interface ReadLimitParts {
  readonly store: Pick<Store, "ping">;
  readonly timers: Timers;
}

const READS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Looks after a while whether the database answers others: one that is only slow with this call is waited for. */
export function limitReads({ store, timers }: ReadLimitParts): MiddlewareHandler {
  const { readPatienceMs, readPingMs } = GATEWAY_LIMITS;
  return async (c, next) => {
    // A call that waits for the end of a run is answered at its own time.
    if (!READS.has(c.req.method) || c.req.query("wait") !== undefined) return next();
    const failed = deferred<never>();
    const look = (): Promise<void> =>
      withTimeout(timers, store.ping(), readPingMs, () => new Error("no answer")).then(arm, () => {
        const message = `The database has not answered for more than ${readPatienceMs / 1000} s; retry.`;
        failed.reject(new HoldfastError("STORE_FAILED", message));
      });
    let timer = timers.set(readPatienceMs, look);
    let isOver = false;
    const arm = (): void => {
      if (!isOver) timer = timers.set(readPatienceMs, look);
    };
    const answered = next();
    // Its answer, or its failure, comes when its caller has been answered.
    answered.catch(() => {});
    try {
      await Promise.race([answered, failed.promise]);
    } finally {
      isOver = true;
      timer.cancel();
    }
  };
}
