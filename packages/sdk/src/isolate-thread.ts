/** A pool thread's entry: what the boot script of `isolation/main/spawn-pool-thread.ts` runs. */
import { workerData } from "node:worker_threads";
import { clockOfThread, HoldfastError } from "@holdfast/core";
import type { IsolatedFunctions } from "./connection/pool-thread/isolated-strategy.ts";
import { createPoolHandlers } from "./connection/pool-thread/pool-handlers.ts";
import { ISOLATION_VERSION, type PoolThreadInit } from "./isolation/shared/isolation-messages.ts";
import { runPoolThread } from "./isolation/thread/run-pool-thread.ts";

/** The boot script's own `import()`: that of a compiled function has no loader. */
declare const importModule: (url: string) => Promise<unknown>;

const init = { ...(workerData as PoolThreadInit) };
if (init.version !== ISOLATION_VERSION || init.port === undefined) {
  throw new HoldfastError(
    "THREAD_PROTOCOL",
    "isolate-thread is a thread of Holdfast's pool; connect() starts it. Do not run it directly.",
  );
}
// What code of the app finds there is not meant for it.
for (const key of Object.keys(workerData as object)) Reflect.deleteProperty(workerData as object, key);

const { handlers } = init;
runPoolThread(init, {
  clock: clockOfThread(init.started, process),
  importModule,
  ...(handlers === undefined
    ? {}
    : { makeHandlers: (thread) => createPoolHandlers(handlers as IsolatedFunctions, thread) }),
});
