/** Whether the running thread is one of the pool, as code of the app asks it. */
import { findNodeModule } from "../runtime.ts";
import { poolThread } from "./isolated.ts";

/**
 * Whether this is a thread of the pool, which evaluates the modules of isolated code, too. What is to be there once only
 * (`connect()`, a server, timers) is guarded with it. `isMainThread` of Node does not tell: some development servers run
 * the whole app in a thread.
 * @example if (!isPoolThread) await app.connect({ functions: [index] });
 */
export const isPoolThread: boolean = poolThread() !== undefined || isStarting();

/** Preloads run before the thread's own script, which takes its data away. */
function isStarting(): boolean {
  const data: unknown = findNodeModule("node:worker_threads")?.workerData;
  return typeof data === "object" && data !== null && "isPoolThread" in data && data.isPoolThread === true;
}
